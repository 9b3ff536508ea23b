import { connect, createServer, type Server, type Socket } from 'node:net';

interface Asked {
  readonly target: string;
  /** `user:password`, or of SOCKS 4 the user alone. */
  readonly credentials?: string;
}

/**
 * A SOCKS proxy (4, 4a and 5) that leads everything to one port of this machine, and what it was asked for. With
 * `credentials` it lets nobody else through. Not listening yet.
 */
export function socksProxy(port: number, credentials?: string) {
  const asked: Asked[] = [];
  const targets: string[] = [];
  const note = (target: string, by: string | undefined): void => {
    targets.push(target);
    asked.push({ target, ...(by && { credentials: by }) });
  };
  const server: Server = createServer(async (client) => {
    client.on('error', () => {});
    try {
      const first = await message(client);
      const { target, by, granted, refused } =
        first[0] === 4 ? socks4(first) : await socks5(client, first, credentials);
      note(target, by);
      if (credentials !== undefined && by !== credentials) {
        client.end(Buffer.from(refused));
        return;
      }
      client.write(Buffer.from(granted));
      const onward = connect(port, '127.0.0.1');
      onward.on('error', () => client.destroy());
      client.on('close', () => onward.destroy());
      client.pipe(onward).pipe(client);
    } catch {
      client.destroy();
    }
  });
  return { server, targets: targets as readonly string[], asked: asked as readonly Asked[] };
}

const message = (client: Socket): Promise<Buffer> => new Promise((resolve) => client.once('data', resolve));

function socks4(request: Buffer) {
  const [user = '', name] = request.subarray(8, -1).toString().split('\0');
  const host = request.readUInt32BE(4) < 256 ? name : request.subarray(4, 8).join('.');
  const answer = (code: number): readonly number[] => [0, code, 0, 0, 0, 0, 0, 0];
  return { target: `${host}:${request.readUInt16BE(2)}`, by: user, granted: answer(90), refused: answer(93) };
}

async function socks5(client: Socket, greeting: Buffer, credentials: string | undefined) {
  let by: string | undefined;
  if (credentials !== undefined && !greeting.subarray(2).includes(2)) {
    client.end(Buffer.from([5, 255]));
  } else if (credentials !== undefined) {
    client.write(Buffer.from([5, 2]));
    const login = await message(client);
    const split = 2 + (login[1] ?? 0);
    by = `${login.subarray(2, split)}:${login.subarray(split + 1)}`;
    client.write(Buffer.from([1, by === credentials ? 0 : 1]));
  } else client.write(Buffer.from([5, 0]));
  const request = await message(client);
  const port = request.readUInt16BE(request.length - 2);
  const address = request[3] === 3 ? request.subarray(5, -2).toString() : [...request.subarray(4, -2)].join('.');
  const answer = (code: number): readonly number[] => [5, code, 0, 1, 0, 0, 0, 0, 0, 0];
  return { target: `${address}:${port}`, by, granted: answer(0), refused: answer(2) };
}
