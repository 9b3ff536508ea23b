// What a pod of the tests runs: it tells what it was given, and does what it is told.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { argv, env, exit } from 'node:process';

const [mode = 'serve', ...rest] = argv.slice(2);
if (mode === 'exit') exit(Number(rest[0]));

const facts = { ...env };
let ready = false;
let live = true;
const server = createServer((request, response) => {
  if (request.url === '/unready') ready = false;
  if (request.url === '/ready!') ready = true;
  if (request.url === '/die') live = false;
  if (request.url === '/facts') {
    const { users } = JSON.parse(readFileSync(facts.KUBECONFIG, 'utf8'));
    const { ATTUNE_LISTEN_ADDRESS: address, HOSTNAME: hostname } = facts;
    const own = Object.fromEntries(Object.entries(facts).filter(([name]) => name.startsWith('T_')));
    response.end(JSON.stringify({ args: rest, own, address, hostname, token: users[0].user.token }));
    return;
  }
  const good = request.url === '/readyz' ? ready : request.url === '/live' ? live : true;
  response.writeHead(good ? 200 : 503).end();
});
server.listen(9090, facts.ATTUNE_LISTEN_ADDRESS);
process.on('SIGTERM', () => {
  if (mode !== 'stubborn') exit(0);
});
