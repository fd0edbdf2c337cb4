#!/usr/bin/env python3
"""A remote worker for Acta, in the standard library of Python alone. Replace work(); the rest stays as it is."""

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
stopping = threading.Event()


def work(run):
    """One turn of the agent. Returning completes the task, raising fails it; pause() raises when the run must stop."""
    text = " ".join(part["text"] for part in run.message["parts"] if "text" in part)
    if text == "ask":
        return run.finish("requireInput", "What shall I shout?")
    run.working("shouting")
    for word in text.split():
        run.artifact("text", word.upper() + " ")
        run.pause(0.2)
        for message in run.new_messages():
            run.artifact("text", "(%d more parts) " % len(message["parts"]))


class Lost(Exception):
    """Another worker has the task now, or it is over: nothing that this run says is recorded any more."""


class Canceled(Exception):
    """Someone wants the task canceled."""


class Stopped(Exception):
    """This worker was told to go."""


class Run:
    """A task that this worker holds, for as long as its heartbeats get through."""

    def __init__(self, claimed):
        self.id, self.message, self.history = claimed["runId"], claimed["message"], claimed["history"]
        self.fence = {name: claimed[name] for name in ("leaseGeneration", "dispatcherGeneration")}
        self.beat_seconds = min(claimed["leaseMs"] / 1000 / 3, 2)
        self.read = self.received = claimed["version"]
        self.seq = 0
        self.started, self.messages = set(), queue.Queue()
        self.canceled, self.lost, self.over = threading.Event(), threading.Event(), threading.Event()
        self.heart = threading.Thread(target=self._beat, daemon=True)
        self.heart.start()

    def working(self, text=None):
        self._publish({"type": "working", **({} if text is None else {"message": said(text)})})

    def artifact(self, name, text):
        """The first chunk of a name starts the artifact, later ones go on with it."""
        append = name in self.started
        self.started.add(name)
        self._publish({"type": "artifact", "id": name, "append": append, "parts": [{"text": text}]})

    def finish(self, outcome, text=None):
        """complete, fail, reject, requireInput, requireAuth, reply, canceled, retry or release."""
        message = {} if text is None else {"message": said(text)}
        self._write("finish", {"outcome": {"type": outcome, **message}})
        self.over.set()

    def new_messages(self):
        """What the client has sent since. Messages that nobody takes start the next turn."""
        while not self.messages.empty():
            self.read, message = self.messages.get()
            yield message

    def pause(self, seconds):
        """Waits; raises as soon as there is no point in going on."""
        until = time.monotonic() + seconds
        while True:
            for event, error in ((self.lost, Lost), (self.canceled, Canceled), (stopping, Stopped)):
                if event.is_set():
                    raise error()
            left = until - time.monotonic()
            if left <= 0:
                return
            self.lost.wait(min(left, 0.1))

    def end(self):
        self.over.set()
        self.heart.join()

    def _publish(self, output):
        self._write("publish", {"outputs": [output]})

    def _write(self, what, body):
        if self.over.is_set():
            return
        self.seq += 1
        # Sent again under the same seq when its answer is lost: the record takes it once.
        self._heard(self._call(what, {**body, "seq": self.seq, "readThrough": self.read}))

    def _beat(self):
        while not self.over.wait(self.beat_seconds):
            try:
                self._heard(self._call("heartbeat", {"readThrough": self.received}))
            except Lost:
                return
            except Exception as error:
                print("heartbeat: %s" % error, file=sys.stderr)

    def _call(self, what, body):
        try:
            return call("/api/runs/%s/%s" % (self.id, what), {**body, **self.fence}, self.lost)
        except urllib.error.HTTPError as error:
            # 404 and 409: it is someone else's now. 422: what was said broke the contract, and has failed the task.
            if error.code not in (404, 409, 422):
                raise
            print("run %s is over: %s" % (self.id, error.reason), file=sys.stderr)
            self.lost.set()
            self.over.set()
            raise Lost() from None

    def _heard(self, answer):
        if answer["cancelRequested"]:
            self.canceled.set()
        for new in answer["messages"]:
            if new["version"] > self.received:
                self.received = new["version"]
                self.messages.put((new["version"], new["message"]))


def said(text):
    return {"parts": [{"text": text}]}


def call(path, body, given_up=stopping):
    """Posts JSON and gives the answer's. What may pass is tried again; what may not is raised as an HTTPError."""
    headers = {"Authorization": "Bearer " + TOKEN, "Content-Type": "application/json"}
    pause = 0.2
    while True:
        request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=40) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            why = json.loads(error.read() or b"{}").get("error", error.reason)
            if error.code not in (429, 500, 502, 503, 504):
                raise urllib.error.HTTPError(error.url, error.code, why, error.headers, None) from None
            pause = max(pause, float(error.headers.get("Retry-After") or 0))
        except OSError as error:
            why = error
        if given_up.wait(pause):
            raise Lost()
        print("%s: %s; trying again" % (path, why), file=sys.stderr)
        pause = min(pause * 2, 5)


def perform(claimed):
    run = Run(claimed)
    print("run %s, attempt %d" % (run.id, claimed["attempt"]), flush=True)
    try:
        try:
            work(run)
            run.finish("complete")
        except Canceled:
            run.finish("canceled")
        except Stopped:
            run.finish("release")
        except Lost:
            raise
        except Exception as error:
            run.finish("fail", str(error) or type(error).__name__)
    except Lost:
        pass
    finally:
        run.end()


class Signals:
    """A worker that waits for work goes at once, one that works hands its run back first. A second signal ends it."""

    waiting = False

    @classmethod
    def stop(cls, *_):
        if cls.waiting or stopping.is_set():
            sys.exit(0 if cls.waiting else 1)
        stopping.set()


def claim():
    Signals.waiting = True
    try:
        return call("/api/workers/claim", {"waitMs": 20000})["runs"]
    finally:
        Signals.waiting = False


def main():
    if not TOKEN:
        sys.exit("WORKER_TOKEN is missing: make one with `acta keys create --worker`")
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, Signals.stop)
    print("waiting for work at %s" % URL, flush=True)
    try:
        while not stopping.is_set():
            for claimed in claim():
                perform(claimed)
    except urllib.error.HTTPError as error:
        sys.exit("%d: %s" % (error.code, error.reason))


if __name__ == "__main__":
    main()
