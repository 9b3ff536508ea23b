// Loaded into a controller: on SIGUSR2 it makes garbage as a burst of changes would, and from then on tells of its heap.
import { getHeapSpaceStatistics } from 'node:v8';

const TOLD_MS = 100;
const MB = 2 ** 20;

function burst() {
  const kept = [];
  for (let n = 0; n < 600_000; n += 1) kept.push({ n, text: `object ${n}` });
}

process.once('SIGUSR2', () => {
  burst();
  const during = process.memoryUsage().heapTotal / MB;
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size / MB;
  const tell = () => {
    const now = process.memoryUsage().heapTotal / MB;
    process.stdout.write(`${JSON.stringify({ young, during, now })}\n`);
  };
  setInterval(tell, TOLD_MS).unref();
});
