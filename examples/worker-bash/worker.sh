#!/usr/bin/env bash
# A remote worker for Acta, with curl and jq. Replace work(); the rest stays as it is.
set -uo pipefail
umask 077
url=${SERVER_URL:-http://127.0.0.1:8420}
: "${WORKER_TOKEN:?set it to a token that acta keys create --worker has printed}"
dir=$(mktemp -d)
# Not on curl's command line, where every user of the machine could read it.
printf 'Authorization: Bearer %s\nContent-Type: application/json\n' "$WORKER_TOKEN" >"$dir/headers"
stopping= claiming=
trap 'stopping=1; [ -z "$claiming" ] || kill "$claiming" 2>/dev/null' TERM INT
trap 'rm -rf "$dir"' EXIT

# One turn of the agent. Success completes the task, failure fails it with the last line of stderr.
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

# working [text]
working() {
  write publish "$(jq -nc --arg text "${1-}" \
    '{outputs: [{type: "working"} + if $text == "" then {} else {message: {parts: [{text: $text}]}} end]}')"
}

# artifact name text: the first chunk of a name starts the artifact, later ones go on with it.
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
  : >"$dir/over"
}

# The next of the messages that the client has sent since, as JSON. Those that nobody takes start the next turn.
next_message() {
  local taken
  taken=$(cat "$dir/taken")
  [ "$taken" -lt "$(wc -l <"$dir/messages")" ] || return 1
  echo $((taken + 1)) >"$dir/taken"
  sed -n "$((taken + 1))p" "$dir/messages"
}

# Waits; fails as soon as there is no point in going on.
pause() {
  sleep "$1"
  [ -z "$stopping" ] && [ ! -e "$dir/canceled" ] && [ ! -e "$dir/over" ]
}

# write publish|finish body: what a run says. Sent again under the same seq when its answer is lost: it is recorded once.
write() {
  local seq read
  [ ! -e "$dir/over" ] || return 1
  seq=$(($(cat "$dir/seq") + 1))
  echo "$seq" >"$dir/seq"
  read=$(head -n "$(cat "$dir/taken")" "$dir/messages" | tail -n 1 | jq .version)
  tell said "$1" "$(jq -c --argjson seq "$seq" --argjson read "${read:-$(jq .version "$dir/run")}" \
    '. + {seq: $seq, readThrough: $read}' <<<"$2")"
}

# tell name heartbeat|publish|finish body: one call about the run that is held, and what its answer says.
tell() {
  local id fence
  id=$(jq -r .runId "$dir/run")
  fence=$(jq -c '{leaseGeneration, dispatcherGeneration}' "$dir/run")
  post "$1" "/api/runs/$id/$2" "$(jq -c --argjson fence "$fence" '. + $fence' <<<"$3")"
  if [ "$(cat "$dir/$1.status")" != 200 ]; then
    # 404 and 409: it is someone else's now. 422: what was said broke the contract, and has failed the task.
    echo "run $id is over: $(jq -r '.error // "no answer"' "$dir/$1.json" 2>/dev/null)" >&2
    : >"$dir/over"
    return 1
  fi
  if jq -e .cancelRequested "$dir/$1.json" >/dev/null; then : >"$dir/canceled"; fi
}

# Keeps the lease, and hears of cancels and new messages, until the run is over.
beat() {
  local received seconds
  received=$(jq .version "$dir/run")
  seconds=$(jq '[.leaseMs / 3000, 2] | min' "$dir/run")
  # Not for a worker that was killed: the lease is there to tell.
  while sleep "$seconds" && kill -0 $$ && [ ! -e "$dir/over" ]; do
    tell beat heartbeat "{\"readThrough\": $received}" || return
    jq -c '.messages[]' "$dir/beat.json" >>"$dir/messages"
    received=$(jq "[$received, .messages[].version] | max" "$dir/beat.json")
  done
}

# post name path body: $dir/name.json and $dir/name.status have the answer. What may pass is tried again.
post() {
  local pause=0.2
  while :; do
    curl -sS --max-time 40 -o "$dir/$1.json" -w '%{http_code}' -H "@$dir/headers" --data-binary @- "$url$2" \
      <<<"$3" >"$dir/$1.status" &
    if [ "$1" = claim ]; then claiming=$!; fi
    # A signal ends the wait, and not the call.
    while kill -0 $! 2>/dev/null; do wait $!; done
    claiming=
    case $(cat "$dir/$1.status") in
      '' | 000 | 429 | 500 | 502 | 503 | 504)
        if [ -n "$stopping" ] && [ "$1" = claim ]; then return; fi
        if [ -e "$dir/over" ] || ! kill -0 $$; then return; fi
        sleep "$pause"
        pause=2
        ;;
      *) return ;;
    esac
  done
}

perform() {
  rm -f "$dir"/{over,canceled} "$dir"/started.*
  : >"$dir/messages"
  echo 0 | tee "$dir/seq" >"$dir/taken"
  jq -r '"run \(.runId), attempt \(.attempt)"' "$dir/run"
  beat &
  local heart=$!
  if work 2>"$dir/errors"; then
    [ -e "$dir/over" ] || finish complete
  elif [ -e "$dir/over" ]; then
    :
  elif [ -e "$dir/canceled" ]; then
    finish canceled
  elif [ -n "$stopping" ]; then
    finish release
  else
    finish fail "$(tail -n 1 "$dir/errors")"
  fi
  cat "$dir/errors" >&2
  : >"$dir/over"
  kill "$heart" 2>/dev/null
  wait "$heart" 2>/dev/null
}

echo "waiting for work at $url"
while [ -z "$stopping" ]; do
  rm -f "$dir/over"
  post claim /api/workers/claim '{"waitMs": 20000}'
  [ -z "$stopping" ] || [ "$(cat "$dir/claim.status")" = 200 ] || break
  if [ "$(cat "$dir/claim.status")" != 200 ]; then
    echo "$(cat "$dir/claim.status"): $(jq -r .error "$dir/claim.json")" >&2
    exit 1
  fi
  if jq -e '.runs[0]' "$dir/claim.json" >"$dir/run"; then perform; fi
done
exit 0
