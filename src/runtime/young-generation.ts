// Two halves of 2 MB. Half of it takes a quarter more time for a burst, and left alone it grows to 128 MB and keeps that.
const SIZE_BYTES = 4 * 1024 ** 2;
// It grows when objects survive a collection: some 16,000 small ones are enough.
const AT_A_TIME = 2000;
const MAX_TIMES = 100;

// V8 has one young generation per process.
let isHeld = false;

/**
 * Lets V8's young generation grow to a fixed size and no further. There is a flag for its largest size, but that is read
 * before a program begins; by how much it grows is looked up each time.
 */
export function holdYoungGeneration(): void {
  const v8 = process.getBuiltinModule('node:v8');
  const size = (): number =>
    v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? SIZE_BYTES;
  v8.setFlagsFromString('--semi-space-growth-factor=2');
  const survivors: object[] = [];
  for (let times = 0; size() < SIZE_BYTES && times < MAX_TIMES; times += 1) {
    for (let n = 0; n < AT_A_TIME; n += 1) survivors.push({ n });
  }
  v8.setFlagsFromString('--semi-space-growth-factor=1');
  isHeld = true;
}

/** After a collection that has made it smaller, and only if it was held before. */
export function restoreYoungGeneration(): void {
  if (isHeld) holdYoungGeneration();
}
