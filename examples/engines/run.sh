#!/bin/sh
# Starts the engines of a fleet for development, from Debian's packages, on loopback, until it is interrupted.
#
#   apt-get install redis-server postgresql      # or valkey-server instead of redis-server
#   examples/engines/run.sh [FOLDER]                      # data in FOLDER, by default .engines
#
# Nothing else is touched: no service of the system is started, stopped or configured.
set -eu

folder=$(mkdir -p "${1:-.engines}" && cd "${1:-.engines}" && pwd)
redis_port=${REDIS_PORT:-6390}
postgres_port=${POSTGRES_PORT:-5490}
started=""

stop() {
  trap - EXIT INT TERM
  for process in $started; do kill "$process" 2>/dev/null || true; done
  wait
}
trap stop EXIT INT TERM

redis=$(command -v valkey-server || command -v redis-server || true)
if [ -n "$redis" ]; then
  mkdir -p "$folder/redis"
  "$redis" --bind 127.0.0.1 --port "$redis_port" --dir "$folder/redis" --save "" \
    --appendonly yes --appendfsync everysec > "$folder/redis/log" 2>&1 &
  started="$started $!"
  echo "redis://127.0.0.1:$redis_port/0"
else
  echo "no Redis or Valkey: apt-get install redis-server" >&2
fi

postgres=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1 || true)
if [ -z "$postgres" ]; then
  echo "no PostgreSQL: apt-get install postgresql" >&2
elif [ "$(id -u)" = 0 ]; then
  echo "PostgreSQL does not run as root: run this script as another user to have it started" >&2
else
  if [ ! -d "$folder/postgres" ]; then
    "$postgres/initdb" -D "$folder/postgres" -A trust -U journal > "$folder/postgres-log" 2>&1
  fi
  "$postgres/postgres" -D "$folder/postgres" -c listen_addresses=127.0.0.1 -c port="$postgres_port" \
    -c unix_socket_directories= >> "$folder/postgres-log" 2>&1 &
  started="$started $!"
  echo "postgresql://journal@127.0.0.1:$postgres_port/postgres"
fi

[ -n "$started" ] || exit 1
echo "running; data in $folder; Ctrl-C stops"
wait
