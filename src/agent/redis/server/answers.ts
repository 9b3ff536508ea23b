import { connect } from 'node:net';

const ANSWER_MS = 1000;

/** Whether somebody on a unix socket answers, whatever it is: PONG, NOAUTH, LOADING. */
export function answersOn(socket: string, timeoutMs: number = ANSWER_MS): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket);
    const end = (answered: boolean): void => {
      connection.destroy();
      resolve(answered);
    };
    connection.setTimeout(timeoutMs, () => end(false));
    connection.once('connect', () => connection.write('PING\r\n'));
    connection.once('data', () => end(true));
    connection.once('error', () => end(false));
    connection.once('close', () => end(false));
  });
}

/** Whether somebody listens on a unix socket; a server that hangs still does. */
export function accepts(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket);
    const end = (accepted: boolean): void => {
      connection.destroy();
      resolve(accepted);
    };
    connection.once('connect', () => end(true));
    connection.once('error', () => end(false));
  });
}

/** What sockaddr_un has room for, without the byte that ends it. */
const LONGEST_SOCKET = 107;

/** What is wrong with the path of a socket, if anything. */
export function socketProblem(socket: string): string | undefined {
  const bytes = Buffer.byteLength(socket);
  if (bytes <= LONGEST_SOCKET) return undefined;
  return `the path of the unix socket has ${bytes} bytes, the system allows ${LONGEST_SOCKET}: choose a shorter one than ${socket}`;
}
