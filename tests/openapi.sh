#!/usr/bin/env bash
# Sends a node what its own OpenAPI description allows, and what it does not, and compares the answers with it.
# Usage: tests/openapi.sh TALLYRING SCHEMATHESIS
set -euo pipefail

readonly SECONDS_MAX=30
TALLYRING="$(realpath "$1")" SCHEMATHESIS="$(realpath --no-symlinks "$2")"
readonly TALLYRING SCHEMATHESIS
# What holds whatever is sent. That everything allowed is accepted does not: which fields an event needs depends on its
# operation, and a rules document has a grammar of its own.
readonly CHECKS=not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,unsupported_method

folder="$(mktemp -d)" # schemathesis leaves files where it runs
cd "$folder"
log="$folder/log"
"$TALLYRING" serve --shards 2 --native-addr 127.0.0.1:0 --http-addr 127.0.0.1:0 --resp-addr 127.0.0.1:0 --peer-addr 127.0.0.1:0 \
    --log-format json 2>"$log" &
node=$!
trap 'kill "$node" 2>/dev/null || true; rm -rf "$folder"' EXIT
until address="$(sed -n 's/.*"http":"\([^"]*\)".*/\1/p' "$log")" && [ -n "$address" ]; do
    kill -0 "$node"
    sleep 0.05
done

timeout "$((2 * SECONDS_MAX))" "$SCHEMATHESIS" run "http://$address/openapi.json" \
    --checks "$CHECKS" --phases examples,coverage,fuzzing --max-examples 50 --seed 1 --max-time "$SECONDS_MAX" \
    --suppress-health-check all --warnings off
