#!/usr/bin/env bash
# A remote worker for Acta that needs curl and jq. Replace work(); the rest can stay unchanged.
#
# Each run has its state in files below $dir: run (the claim), messages (one per line, as they arrived), taken (number of
# messages that the agent has read), seq (of the last write), and the markers started.NAME, canceled and ended.
set -uo pipefail
umask 077
url=${SERVER_URL:-http://127.0.0.1:8420}
: "${WORKER_TOKEN:?set it to a token that acta keys create --worker has printed}"
dir=$(mktemp -d)
# The token is in a file, because every user of the machine can read curl's command line.
printf 'Authorization: Bearer %s\nContent-Type: application/json\n' "$WORKER_TOKEN" >"$dir/headers"
stopping= claiming=
trap 'stopping=1; [ -z "$claiming" ] || kill "$claiming" 2>/dev/null' TERM INT
trap 'rm -rf "$dir"' EXIT

# work: executes one turn of the agent. Success completes the task; failure fails it with the last line of stderr.
work() {
  local text word message
  text=$(jq -r '[.message.parts[].text // empty] | join(" ")' "$dir/run")
  if [ "$text" = ask ]; then
    finish requireInput 'What shall I shout?'
    return
  fi
  working shouting || return
  while read -r word; do
    artifact text "$word " || return
    pause 0.2 || return
    while message=$(next_message); do
      artifact text "($(jq '.message.parts | length' <<<"$message") more parts) " || return
    done
  done < <(tr -s '[:space:]' '\n' <<<"$text" | tr '[:lower:]' '[:upper:]')
}

# working [text]: reports that the agent is working.
working() {
  write publish "$(jq -nc --arg text "${1-}" \
    '{outputs: [{type: "working"} + if $text == "" then {} else {message: {parts: [{text: $text}]}} end]}')"
}

# artifact name text: publishes a chunk. The first chunk of a name starts the artifact, and later chunks are appended.
artifact() {
  local append=true
  if [ ! -e "$dir/started.$1" ]; then append=false; fi
  : >"$dir/started.$1"
  write publish "$(jq -nc --arg id "$1" --arg text "$2" --argjson append "$append" \
    '{outputs: [{type: "artifact", id: $id, append: $append, parts: [{text: $text}]}]}')"
}

# finish outcome [text]: complete, fail, reject, requireInput, requireAuth, reply, canceled, retry or release.
finish() {
  write finish "$(jq -nc --arg type "$1" --arg text "${2-}" \
    '{outcome: ({type: $type} + if $text == "" then {} else {message: {parts: [{text: $text}]}} end)}')"
  : >"$dir/ended"
}

# next_message: prints the next message that has arrived since the run started, as JSON; fails if there is none. An unread
# message starts the next turn.
next_message() {
  local taken
  taken=$(cat "$dir/taken")
  [ "$taken" -lt "$(wc -l <"$dir/messages")" ] || return 1
  echo $((taken + 1)) >"$dir/taken"
  sed -n "$((taken + 1))p" "$dir/messages"
}

# pause seconds: waits; fails when the run has ended or is canceled, or the worker stops.
pause() {
  sleep "$1"
  [ -z "$stopping" ] && [ ! -e "$dir/canceled" ] && [ ! -e "$dir/ended" ]
}

# write publish|finish body: sends output of the run. A retry has the same seq, so the server records the output once.
write() {
  local seq read
  [ ! -e "$dir/ended" ] || return 1
  seq=$(($(cat "$dir/seq") + 1))
  echo "$seq" >"$dir/seq"
  read=$(head -n "$(cat "$dir/taken")" "$dir/messages" | tail -n 1 | jq .version)
  call_run write "$1" "$(jq -c --argjson seq "$seq" --argjson read "${read:-$(jq .version "$dir/run")}" \
    '. + {seq: $seq, readThrough: $read}' <<<"$2")"
}

# call_run name heartbeat|publish|finish body: sends one call for the claimed run. The response is in $dir/name.json.
call_run() {
  local id fence
  id=$(jq -r .runId "$dir/run")
  fence=$(jq -c '{leaseGeneration, dispatcherGeneration}' "$dir/run")
  post "$1" "/api/runs/$id/$2" "$(jq -c --argjson fence "$fence" '. + $fence' <<<"$3")"
  if [ "$(cat "$dir/$1.status")" != 200 ]; then
    # 404 and 409: this worker does not hold the run. 422: the output was invalid, and the task has failed.
    echo "run $id has ended: $(jq -r '.error // "no response"' "$dir/$1.json" 2>/dev/null)" >&2
    : >"$dir/ended"
    return 1
  fi
  if jq -e .cancelRequested "$dir/$1.json" >/dev/null; then : >"$dir/canceled"; fi
}

# send_heartbeats: renews the lease and receives cancels and new messages until the run has ended.
send_heartbeats() {
  local received seconds
  received=$(jq .version "$dir/run")
  seconds=$(jq '[.leaseMs / 3000, 2] | min' "$dir/run")
  # It stops when the worker was killed ($$ is the worker), so that the lease expires.
  while sleep "$seconds" && kill -0 $$ && [ ! -e "$dir/ended" ]; do
    call_run heartbeat heartbeat "{\"readThrough\": $received}" || return
    jq -c '.messages[]' "$dir/heartbeat.json" >>"$dir/messages"
    received=$(jq "[$received, .messages[].version] | max" "$dir/heartbeat.json")
  done
}

# post name path body: writes the response to $dir/name.json and $dir/name.status. Retries temporary failures.
post() {
  local delay=0.2
  while :; do
    curl -sS --max-time 40 -o "$dir/$1.json" -w '%{http_code}' -H "@$dir/headers" --data-binary @- "$url$2" \
      <<<"$3" >"$dir/$1.status" &
    if [ "$1" = claim ]; then claiming=$!; fi
    # A signal interrupts wait but not curl.
    while kill -0 $! 2>/dev/null; do wait $!; done
    claiming=
    case $(cat "$dir/$1.status") in
      '' | 000 | 429 | 500 | 502 | 503 | 504)
        if [ -n "$stopping" ] && [ "$1" = claim ]; then return; fi
        if [ -e "$dir/ended" ] || ! kill -0 $$; then return; fi
        sleep "$delay"
        delay=2
        ;;
      *) return ;;
    esac
  done
}

# execute_run: executes the claimed run in $dir/run and finishes it.
execute_run() {
  rm -f "$dir"/{ended,canceled} "$dir"/started.*
  : >"$dir/messages"
  echo 0 | tee "$dir/seq" >"$dir/taken"
  jq -r '"run \(.runId), attempt \(.attempt)"' "$dir/run"
  send_heartbeats &
  local heartbeats=$!
  if work 2>"$dir/errors"; then
    [ -e "$dir/ended" ] || finish complete
  elif [ -e "$dir/ended" ]; then
    :
  elif [ -e "$dir/canceled" ]; then
    finish canceled
  elif [ -n "$stopping" ]; then
    finish release
  else
    finish fail "$(tail -n 1 "$dir/errors")"
  fi
  cat "$dir/errors" >&2
  : >"$dir/ended"
  kill "$heartbeats" 2>/dev/null
  wait "$heartbeats" 2>/dev/null
}

echo "waiting for tasks at $url"
while [ -z "$stopping" ]; do
  rm -f "$dir/ended"
  post claim /api/workers/claim '{"waitMs": 20000}'
  [ -z "$stopping" ] || [ "$(cat "$dir/claim.status")" = 200 ] || break
  if [ "$(cat "$dir/claim.status")" != 200 ]; then
    echo "$(cat "$dir/claim.status"): $(jq -r .error "$dir/claim.json")" >&2
    exit 1
  fi
  if jq -e '.runs[0]' "$dir/claim.json" >"$dir/run"; then execute_run; fi
done
exit 0
