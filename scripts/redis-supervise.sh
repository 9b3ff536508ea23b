#!/bin/sh
# Runs the agent beside Redis: redis-supervise.sh COMMAND [ARGUMENT…]
#
# When the agent dies, Redis goes on and the next agent takes it over; if this process ended, the container would end and
# Redis with it. So an agent that was killed (a code above 128) or had an internal error (70) is started again. Any other
# end is meant, and so is one after SIGTERM or SIGINT, which are passed on: this ends with the agent's code.

# An agent that ends within so many seconds ends quickly; after two such ends in a row there is a pause.
QUICK=10

agent='' asked='' told=''

pass_on() {
  asked=$1
  if [ -n "$agent" ]; then
    told=1
    kill -s "$1" "$agent" 2>/dev/null
  fi
}
trap 'pass_on TERM' TERM
trap 'pass_on INT' INT

# Seconds since the boot: nobody sets that clock.
now() {
  read -r up _ </proc/uptime
  now=${up%.*}
}

# A signal ends `wait` before the agent has ended: then it waits again.
wait_for_agent() {
  while :; do
    wait "$agent"
    last=$?
    # 127: it was waited for already, and the code is known.
    [ "$last" = 127 ] && [ -n "$code" ] || code=$last
    [ -n "$told" ] || return 0
    told=''
  done
}

quick=0
while :; do
  now
  began=$now
  code='' told=''
  "$@" &
  agent=$!
  # The signal came while there was no agent.
  [ -z "$asked" ] || [ -n "$told" ] || pass_on "$asked"
  wait_for_agent
  agent=''
  [ -z "$asked" ] || exit "$code"
  [ "$code" -gt 128 ] || [ "$code" -eq 70 ] || exit "$code"
  echo "the agent ended with code $code and is started again" >&2
  now
  if [ $((now - began)) -ge "$QUICK" ]; then quick=0; else quick=$((quick + 1)); fi
  if [ "$quick" -ge 2 ]; then
    sleep 1 &
    wait $! # unlike sleep itself, a signal ends it
    [ -z "$asked" ] || exit "$code"
  fi
done
