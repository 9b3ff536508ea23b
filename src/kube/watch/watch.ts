import type { KubeObject } from '../../api/objects.ts';
import { refusal } from '../kube-error.ts';
import { localError, toCallError } from '../wire/call-errors.ts';
import { LineSplitter } from '../wire/json-lines.ts';
import { type Call, MAX_OBJECT_BYTES, parse, type Transport } from '../wire/transport.ts';
import type { Turn } from '../wire/turns.ts';
import { isKubeObject } from './listing.ts';

/**
 * An event of a watch. The object of a BOOKMARK has a resourceVersion and nothing else. It is taken out when the next event is
 * asked for: a watch waits for long, and one object may have megabytes.
 */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: KubeObject;
}

const STOPPED = 'an event has stopped in the middle';
// What is larger is received in turns: many watches may get large events at once.
const LARGE_EVENT_BYTES = 1024 * 1024;

/**
 * The events of one watch, until the server ends it. Throws a KubeError if it breaks, if the server sends ERROR (`Expired`:
 * it has forgotten the position), and `TooLarge` for an event over our limit.
 */
export async function* watchEvents(
  transport: Transport,
  call: Call,
  onOpen?: () => void,
): AsyncGenerator<WatchEvent, void> {
  const answer = await transport.open(call);
  onOpen?.();
  const lines = new LineSplitter(MAX_OBJECT_BYTES);
  let turn: Turn | undefined;
  let cancel = (): void => {};
  try {
    for await (const chunk of answer.pieces()) {
      cancel();
      const complete = lines.push(chunk);
      if (!complete) throw localError(call, 'TooLarge', `an event is over ${MAX_OBJECT_BYTES} bytes`);
      // Before the event is used: to use it takes no time, or as long as the reader likes.
      if (complete.length > 0) {
        turn?.giveBack();
        turn = undefined;
      }
      while (complete.length > 0) {
        const { event, drop } = takeEvent(call, complete);
        try {
          yield event;
        } finally {
          drop();
        }
      }
      if (lines.bytes <= LARGE_EVENT_BYTES) continue;
      turn ??= await answer.turn(transport.largeAnswers);
      // A watch may be silent between two events, and for much longer: in the middle of one it would keep others waiting.
      cancel = transport.clock.after(transport.idleMs, () => answer.fail(localError(call, 'Silent', STOPPED)));
    }
  } catch (error) {
    throw toCallError(call, error);
  } finally {
    cancel();
    turn?.giveBack();
    lines.clear();
  }
}

const CHANGES: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED']);

interface ParsedEvent {
  readonly type?: unknown;
  readonly object?: unknown;
}

/** Takes out the first line and reads it. `drop` lets go of its object, and overwrites the data of a Secret. */
function takeEvent(call: Call, lines: Buffer[]): { readonly event: WatchEvent; drop(): void } {
  const parsed = parse<ParsedEvent | null>(call, lines.shift() as Buffer);
  try {
    const event = asEvent(call, parsed?.value);
    const drop = (): void => {
      parsed?.erase();
      (event as { object: unknown }).object = undefined;
    };
    return { event, drop };
  } catch (error) {
    parsed?.erase();
    throw error;
  }
}

function asEvent(call: Call, event: ParsedEvent | null | undefined): WatchEvent {
  const object = event?.object as KubeObject | null | undefined;
  // A bookmark has a resourceVersion and no name.
  if (event?.type === 'BOOKMARK' && typeof object?.metadata?.resourceVersion === 'string') return event as WatchEvent;
  if (CHANGES.has(event?.type) && isKubeObject(object)) return event as WatchEvent;
  if (event?.type === 'ERROR') {
    throw refusal(call, (event.object as { readonly code?: number } | null)?.code ?? 500, event.object);
  }
  throw localError(call, 'BadAnswer', 'a line of the watch is not an event');
}
