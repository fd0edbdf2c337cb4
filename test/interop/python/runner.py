"""Runs the cases of one client and prints the result of each as a line of JSON."""

import argparse
import asyncio
import json
import re
import sys

CASE_TIMEOUT_S = 30


def read_target():
    """Returns the URL, the binding (JSONRPC or HTTP+JSON) and the token, which is empty for a server without authentication."""
    parser = argparse.ArgumentParser()
    for name in ('--url', '--binding', '--token'):
        parser.add_argument(name, default='')
    target = parser.parse_args()
    return target.url, target.binding, target.token


def describe(error):
    """Returns the messages of an error and of its causes."""
    texts = []
    while error is not None:
        texts.append(f'{type(error).__name__}: {error}')
        error = error.__cause__
    return '; '.join(texts)


async def run_cases(cases):
    """Runs the cases one after the other. `cases` is a list of coroutine functions, whose names are the names of the cases."""
    for run in cases:
        result = {'case': run.__name__.rstrip('_').replace('_', '-'), 'passed': True}
        try:
            await asyncio.wait_for(run(), CASE_TIMEOUT_S)
        except Exception as error:
            result |= {'passed': False, 'error': describe(error)}
        print(json.dumps(result), flush=True)


def check(condition, message):
    if not condition:
        raise AssertionError(message)


async def expect_error(operation, expected):
    """Expects that an operation fails, with an error that matches a pattern."""
    try:
        await operation
    except Exception as error:
        check(re.search(expected, describe(error)), f'the error is not {expected}: {describe(error)}')
        return
    raise AssertionError('the operation succeeded')


async def read_all(stream):
    return [update async for update in stream]


def main(cases):
    asyncio.run(run_cases(cases))
    sys.exit()
