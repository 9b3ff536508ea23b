import { connect, createServer, type Server } from 'node:net';

/** A SOCKS 5 proxy that leads everything to one port of this machine, and what it was asked for. Not listening yet. */
export function socksProxy(port: number): { readonly server: Server; readonly targets: readonly string[] } {
  const targets: string[] = [];
  const server = createServer((client) => {
    client.on('error', () => {});
    // Greeting, answer, request with the address as a name, answer, and then whatever the two have to say.
    client.once('data', () => {
      client.write(Buffer.from([5, 0]));
      client.once('data', (request: Buffer) => {
        targets.push(`${request.subarray(5, -2)}:${request.readUInt16BE(request.length - 2)}`);
        client.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
        const onward = connect(port, '127.0.0.1');
        onward.on('error', () => client.destroy());
        client.on('close', () => onward.destroy());
        client.pipe(onward).pipe(client);
      });
    });
  });
  return { server, targets };
}
