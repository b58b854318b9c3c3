#!/usr/bin/env bash
# Stock Redis clients against a node: run.sh BINARY FOLDER, where FOLDER has what `.ci/run clients` installed.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
readonly HERE BINARY="$1" FOLDER="$2" SECRET="a-secret-of-clients"
LOG="$(mktemp)"
TOKENS="$(mktemp)"
NODE_PID=""
PAPERS="$(mktemp -d)"
trap '[ -z "$NODE_PID" ] || kill "$NODE_PID" 2>/dev/null || true; rm -rf "$LOG" "$TOKENS" "$PAPERS"' EXIT
printf 'client = ["%s"]\n' "$(printf %s "$SECRET" | sha256sum | cut -d' ' -f1)" >"$TOKENS"

# Starts a node on free ports, and sets PORT.
start() {
    : >"$LOG"
    TALLYRING_NATIVE_ADDR=127.0.0.1:0 TALLYRING_HTTP_ADDR=127.0.0.1:0 TALLYRING_RESP_ADDR=127.0.0.1:0 TALLYRING_PEER_ADDR=127.0.0.1:0 \
        "$BINARY" serve --shards 2 --log-format json "$@" 2>"$LOG" &
    NODE_PID=$!
    for _ in $(seq 200); do
        PORT="$(sed -n 's/.*"resp":"127\.0\.0\.1:\([0-9]*\)".*/\1/p' "$LOG")"
        [ -z "$PORT" ] || return 0
        sleep 0.05
    done
    cat "$LOG" >&2
    return 1
}

stop() {
    kill "$NODE_PID"
    wait "$NODE_PID"
    NODE_PID=""
}

expect() {
    [ "$2" = "$3" ] || {
        echo "redis-cli: $1 said '$2', not '$3'" >&2
        exit 1
    }
}

# redis_cli TOKEN CA, where either may be empty.
redis_cli() {
    local cli=(redis-cli -p "$PORT")
    [ -z "$1" ] || cli+=(--no-auth-warning --pass "$1")
    [ -z "$2" ] || cli+=(--tls --cacert "$2")
    expect PING "$("${cli[@]}" PING </dev/null)" PONG
    expect CL.THROTTLE "$("${cli[@]}" CL.THROTTLE cli 15 30 60 </dev/null | tr '\n' ' ')" "0 16 15 -1 2 "
    expect TR.CHECK "$("${cli[@]}" -3 TR.CHECK cli3 fixed_window 5 CAL.MONTH COST 5 </dev/null | head -3 | tr '\n' ' ')" "1 5 0 "
    expect "a pipeline" "$(printf 'PING\nECHO "a b"\n' | "${cli[@]}" | tr '\n' ' ')" "PONG a b "
    echo "redis-cli: fine${1:+, with a token}${2:+, over TLS}"
}

clients() {
    redis_cli "$1" "$2"
    PYTHONDONTWRITEBYTECODE=1 "$FOLDER/venv/bin/python" "$HERE/redis_py.py" "$PORT" "$1" "$2"
    if [ -d "$FOLDER/node_modules" ]; then
        node "$FOLDER/clients.mjs" "$PORT" "$1" "$2"
    else
        echo "node-redis, ioredis: not tried, there is no Node.js"
    fi
}

start
clients "" ""
stop
start --token-file "$TOKENS"
clients "$SECRET" ""
stop
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj "/CN=a node" \
    -addext "subjectAltName=DNS:localhost,IP:127.0.0.1" -keyout "$PAPERS/node.key" -out "$PAPERS/node.pem" 2>/dev/null
start --token-file "$TOKENS" --tls-cert "$PAPERS/node.pem" --tls-key "$PAPERS/node.key"
clients "$SECRET" "$PAPERS/node.pem"
stop
