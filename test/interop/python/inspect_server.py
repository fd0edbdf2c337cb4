"""Drives a server as a2a-inspector does, and prints the warnings of its rules as a list in JSON.

Arguments: the rules of the inspector (backend/validators.py), the URL of the server, and the value of `A2A-Version`; empty: no
header. Needs the SDK of A2A 0.3, like the inspector.
"""

import asyncio
import importlib.util
import json
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, TextPart, TransportProtocol

RULES_PATH, URL, VERSION = sys.argv[1:]
spec = importlib.util.spec_from_file_location('validators', RULES_PATH)
rules = importlib.util.module_from_spec(spec)
spec.loader.exec_module(rules)


async def inspect():
    headers = {'A2A-Version': VERSION} if VERSION else {}
    async with httpx.AsyncClient(timeout=30, headers=headers) as http:
        card = await A2ACardResolver(http, URL).get_agent_card()
        warnings = rules.validate_agent_card(card.model_dump(exclude_none=True))
        transports = [TransportProtocol.jsonrpc, TransportProtocol.http_json]
        config = ClientConfig(supported_transports=transports, use_client_preference=True, httpx_client=http)
        for text in ('hello', 'reply', 'ask', 'one two chunks 3'):
            message = Message(message_id=str(uuid.uuid4()), role=Role.user, parts=[Part(root=TextPart(text=text))])
            async for event in ClientFactory(config).create(card).send_message(message):
                response = (event[1] or event[0]) if isinstance(event, tuple) else event
                warnings += rules.validate_message(response.model_dump(exclude_none=True))
        return warnings


print(json.dumps(asyncio.run(inspect())))
