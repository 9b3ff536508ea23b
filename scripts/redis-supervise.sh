#!/bin/sh
# Runs the agent beside Redis: redis-supervise.sh COMMAND [ARGUMENT…]
#
# When the agent dies, Redis goes on and the next agent takes it over; if this process ended, the container would end and
# Redis with it. So an agent that was killed (a code above 128) or had an internal error (70) is started again. Any other
# end is meant: this ends with the agent's code. SIGTERM and SIGINT are passed on; an agent that dies of them, since it has
# only begun, or while it stops Redis, is followed by another one that stops it: Redis must not end without a save.

# Data, start file and passwords are nobody else's to read.
umask 077

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

# A signal ends this pause.
rest() {
  sleep "$1" &
  wait $!
}

quick=0 tries=0
while :; do
  now
  began=$now
  code='' told=''
  "$@" &
  agent=$!
  if [ -n "$asked" ]; then
    # It cannot take a signal before it has begun: it gets twice as much time at each try.
    rest $((1 << tries))
    tries=$((tries + 1))
    pass_on "$asked"
  fi
  wait_for_agent
  agent=''
  [ "$code" -gt 128 ] || [ "$code" -eq 70 ] || exit "$code"
  if [ -n "$asked" ]; then
    [ "$tries" -lt 3 ] || exit "$code"
    continue
  fi
  echo "the agent ended with code $code and is started again" >&2
  now
  if [ $((now - began)) -ge "$QUICK" ]; then quick=0; else quick=$((quick + 1)); fi
  [ "$quick" -lt 2 ] || rest 1
done
