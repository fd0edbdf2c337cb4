#!/usr/bin/env python3
"""A remote worker for Acta that needs only the standard library of Python. Replace work(); the rest can stay unchanged."""

import json
import os
import queue
import signal
import sys
import threading
import time
import urllib.error
import urllib.request

URL = os.environ.get("SERVER_URL", "http://127.0.0.1:8420").rstrip("/")
TOKEN = os.environ.get("WORKER_TOKEN", "")
CLAIM_WAIT_MS = 20_000
REQUEST_TIMEOUT_SECONDS = 40
MAX_HEARTBEAT_SECONDS = 2
RETRY_STATUSES = (429, 500, 502, 503, 504)
stopping = threading.Event()


def work(run):
    """Executes one turn of the agent. Returning completes the task, and raising fails it. Call pause() in long loops."""
    text = " ".join(part["text"] for part in run.message["parts"] if "text" in part)
    if text == "ask":
        return run.finish("requireInput", "What shall I shout?")
    run.working("shouting")
    for word in text.split():
        run.artifact("text", word.upper() + " ")
        run.pause(0.2)
        for message in run.new_messages():
            run.artifact("text", "(%d more parts) " % len(message["parts"]))


class RunLost(Exception):
    """A different worker holds the run, or the run has ended. The server rejects all later output of this worker."""


class RunCanceled(Exception):
    """A client has requested the cancellation of the task."""


class WorkerStopping(Exception):
    """This worker has received a signal to stop."""


class Run:
    """A claimed run. A thread sends its heartbeats until it has ended."""

    def __init__(self, claimed):
        self.id, self.message, self.history = claimed["runId"], claimed["message"], claimed["history"]
        self.fence = {name: claimed[name] for name in ("leaseGeneration", "dispatcherGeneration")}
        self.heartbeat_seconds = min(claimed["leaseMs"] / 1000 / 3, MAX_HEARTBEAT_SECONDS)
        self.read_version = self.received_version = claimed["version"]
        self.seq = 0
        self.started_artifacts, self.messages = set(), queue.Queue()
        self.canceled, self.lost, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.heartbeats = threading.Thread(target=self._send_heartbeats, daemon=True)
        self.heartbeats.start()

    def working(self, text=None):
        self._publish({"type": "working", **optional_message(text)})

    def artifact(self, name, text):
        """Publishes a chunk. The first chunk of a name starts the artifact, and later chunks are appended."""
        append = name in self.started_artifacts
        self.started_artifacts.add(name)
        self._publish({"type": "artifact", "id": name, "append": append, "parts": [{"text": text}]})

    def finish(self, outcome, text=None):
        """complete, fail, reject, requireInput, requireAuth, reply, canceled, retry or release."""
        self._write("finish", {"outcome": {"type": outcome, **optional_message(text)}})
        self.ended.set()

    def new_messages(self):
        """Yields the messages that have arrived since the run started. An unread message starts the next turn."""
        while not self.messages.empty():
            self.read_version, message = self.messages.get()
            yield message

    def pause(self, seconds):
        """Waits. Raises immediately when the run is lost or canceled, or the worker stops."""
        deadline = time.monotonic() + seconds
        while True:
            for event, error in ((self.lost, RunLost), (self.canceled, RunCanceled), (stopping, WorkerStopping)):
                if event.is_set():
                    raise error()
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return
            self.lost.wait(min(remaining, 0.1))

    def close(self):
        self.ended.set()
        self.heartbeats.join()

    def _publish(self, output):
        self._write("publish", {"outputs": [output]})

    def _write(self, operation, body):
        if self.ended.is_set():
            return
        self.seq += 1
        # A retry after a lost response has the same seq, so the server records the output once.
        self._apply(self._post(operation, {**body, "seq": self.seq, "readThrough": self.read_version}))

    def _send_heartbeats(self):
        while not self.ended.wait(self.heartbeat_seconds):
            try:
                self._apply(self._post("heartbeat", {"readThrough": self.received_version}))
            except RunLost:
                return
            except Exception as error:
                print("heartbeat: %s" % error, file=sys.stderr)

    def _post(self, operation, body):
        try:
            return post("/api/runs/%s/%s" % (self.id, operation), {**body, **self.fence}, self.lost)
        except urllib.error.HTTPError as error:
            # 404 and 409: this worker does not hold the run. 422: the output was invalid, and the task has failed.
            if error.code not in (404, 409, 422):
                raise
            print("run %s has ended: %s" % (self.id, error.reason), file=sys.stderr)
            self.lost.set()
            self.ended.set()
            raise RunLost() from None

    def _apply(self, state):
        if state["cancelRequested"]:
            self.canceled.set()
        for new in state["messages"]:
            if new["version"] > self.received_version:
                self.received_version = new["version"]
                self.messages.put((new["version"], new["message"]))


def optional_message(text):
    return {} if text is None else {"message": {"parts": [{"text": text}]}}


def post(path, body, stop_retrying=stopping):
    """Posts JSON and returns the JSON of the response. Retries temporary failures, and raises HTTPError for the others."""
    headers = {"Authorization": "Bearer " + TOKEN, "Content-Type": "application/json"}
    delay = 0.2
    while True:
        request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=REQUEST_TIMEOUT_SECONDS) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            reason = json.loads(error.read() or b"{}").get("error", error.reason)
            if error.code not in RETRY_STATUSES:
                raise urllib.error.HTTPError(error.url, error.code, reason, error.headers, None) from None
            delay = max(delay, float(error.headers.get("Retry-After") or 0))
        except OSError as error:
            reason = error
        if stop_retrying.wait(delay):
            raise RunLost()
        print("%s: %s; retrying" % (path, reason), file=sys.stderr)
        delay = min(delay * 2, 5)


def execute(claimed):
    run = Run(claimed)
    print("run %s, attempt %d" % (run.id, claimed["attempt"]), flush=True)
    try:
        try:
            work(run)
            run.finish("complete")
        except RunCanceled:
            run.finish("canceled")
        except WorkerStopping:
            run.finish("release")
        except RunLost:
            raise
        except Exception as error:
            run.finish("fail", str(error) or type(error).__name__)
    except RunLost:
        pass
    finally:
        run.close()


class Signals:
    """Exits immediately on a signal while the worker waits for a claim. A worker with a run releases it first."""

    waiting = False

    @classmethod
    def handle(cls, *_):
        # A second signal exits without the release.
        if cls.waiting or stopping.is_set():
            sys.exit(0 if cls.waiting else 1)
        stopping.set()


def claim():
    Signals.waiting = True
    try:
        return post("/api/workers/claim", {"waitMs": CLAIM_WAIT_MS})["runs"]
    finally:
        Signals.waiting = False


def main():
    if not TOKEN:
        sys.exit("WORKER_TOKEN is missing: create a key with `acta keys create --worker`")
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, Signals.handle)
    print("waiting for tasks at %s" % URL, flush=True)
    try:
        while not stopping.is_set():
            for claimed in claim():
                execute(claimed)
    except urllib.error.HTTPError as error:
        sys.exit("%d: %s" % (error.code, error.reason))


if __name__ == "__main__":
    main()
