"""Runs the cases with the official Python SDK of A2A 0.3."""

import asyncio
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.auth import AuthInterceptor, CredentialService
from a2a.types import (
    GetTaskPushNotificationConfigParams,
    Message,
    MessageSendConfiguration,
    Part,
    PushNotificationAuthenticationInfo,
    PushNotificationConfig,
    Role,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TaskState,
    TextPart,
    TransportProtocol,
)
from a2a.utils.signing import create_signature_verifier
from jwt import PyJWK
from runner import check, expect_error, main, read_all, read_target

URL, BINDING, TOKEN = read_target()


class Credentials(CredentialService):
    """Returns one token for every security scheme."""

    def __init__(self, token):
        self.token = token

    async def get_credentials(self, security_scheme_name, context):
        return self.token


async def resolve_card(**options):
    async with httpx.AsyncClient() as http:
        return await A2ACardResolver(http, URL).get_agent_card(**options)


async def connect(token=TOKEN, streaming=False):
    """Creates a client from the card. It attaches the token because the card requires it."""
    # The SDK does not use interceptors for HTTP+JSON, so this binding needs the header.
    headers = {'Authorization': f'Bearer {token}'} if token and BINDING == 'HTTP+JSON' else {}
    config = ClientConfig(
        streaming=streaming,
        supported_transports=[TransportProtocol(BINDING)],
        httpx_client=httpx.AsyncClient(timeout=20, headers=headers),
    )
    interceptors = [AuthInterceptor(Credentials(token))] if token else []
    return ClientFactory(config).create(await resolve_card(), interceptors=interceptors)


def message(text, **fields):
    part = Part(root=TextPart(text=text))
    return Message(message_id=str(uuid.uuid4()), role=Role.user, parts=[part], **fields)


async def send(text, client=None, configuration=None, **fields):
    """Returns the task or the message of the response."""
    results = (client or await connect()).send_message(message(text, **fields), configuration=configuration)
    results = await read_all(results)
    check(len(results) == 1, f'{len(results)} responses')
    return results[0] if isinstance(results[0], Message) else results[0][0]


async def start(text):
    return await send(text, configuration=MessageSendConfiguration(blocking=False))


async def stream(text, **fields):
    client = await connect(streaming=True)
    return await read_all(client.send_message(message(text, **fields)))


def check_completed(updates):
    task, update = updates[-1]
    check(updates[0][1] is None, f'the first update is {updates[0]}')
    check(update.final and task.status.state == TaskState.completed, f'the last update is {update}')


async def card():
    card = await resolve_card()
    check(card.protocol_version == '0.3.0' and card.url == f'{URL}/a2a', 'the card is not one of A2A 0.3')
    check(('bearer' in (card.security_schemes or {})) == bool(TOKEN), 'the card has the wrong security schemes')


async def card_signature():
    def key(key_id, keys_url):
        keys = httpx.get(keys_url).json()['keys']
        return PyJWK(next(key for key in keys if key['kid'] == key_id))

    await resolve_card(signature_verifier=create_signature_verifier(key, ['EdDSA']))


async def extended_card():
    card = await (await connect()).get_card()
    extensions = card.capabilities.extensions or []
    check('urn:acta:rings' in [extension.uri for extension in extensions], 'the card does not name the rings')


async def extended_card_error():
    await expect_error((await connect('wrong')).get_card(), '(?i)unauth|token|401')


async def send_unauthorized():
    await expect_error(send('hello', await connect('')), '(?i)unauth|token|401')


async def send_():
    task = await send('hello')
    check(task.status.state == TaskState.completed, f'the state is {task.status.state}')
    check(task.artifacts[0].parts[0].root.text == 'HELLO', 'the artifact is wrong')


async def send_error():
    await expect_error(send('hello', task_id=str(uuid.uuid4())), MISSING)


async def send_message():
    reply = await send('reply')
    check(isinstance(reply, Message), 'the response is not a message')


async def send_input():
    task = await send('ask')
    check(task.status.state == TaskState.input_required, f'the state is {task.status.state}')
    continued = await send('go on', task_id=task.id, context_id=task.context_id)
    check(continued.id == task.id and continued.status.state == TaskState.completed, 'the task is not completed')


async def stream_():
    check_completed(await stream('one two chunks 3'))


async def stream_error():
    await expect_error(stream('hello', task_id=str(uuid.uuid4())), MISSING)


async def get():
    task, client = await start('sleep 300ms'), await connect()
    while task.status.state != TaskState.completed:
        await asyncio.sleep(0.1)
        task = await client.get_task(TaskQueryParams(id=task.id))


async def get_error():
    await expect_error((await connect()).get_task(TaskQueryParams(id=str(uuid.uuid4()))), MISSING)


async def subscribe():
    task = await start('sleep 1s')
    client = await connect(streaming=True)
    check_completed(await read_all(client.resubscribe(TaskIdParams(id=task.id))))


async def subscribe_error():
    task = await send('hello')
    client = await connect(streaming=True)
    await expect_error(read_all(client.resubscribe(TaskIdParams(id=task.id))), ENDED)


async def cancel():
    task = await start('sleep 60s')
    canceled = await (await connect()).cancel_task(TaskIdParams(id=task.id))
    check(canceled.status.state == TaskState.canceled, f'the state is {canceled.status.state}')


async def cancel_error():
    task = await send('hello')
    await expect_error((await connect()).cancel_task(TaskIdParams(id=task.id)), NOT_CANCELABLE)


async def push():
    task, client = await send('ask'), await connect()
    authentication = PushNotificationAuthenticationInfo(schemes=['Bearer'], credentials='c')
    config = PushNotificationConfig(url='http://127.0.0.1:9/hook', token='opaque', authentication=authentication)
    request = TaskPushNotificationConfig(task_id=task.id, push_notification_config=config)
    created = await client.set_task_callback(request)
    key = {'id': task.id, 'push_notification_config_id': created.push_notification_config.id}
    stored = await client.get_task_callback(GetTaskPushNotificationConfigParams(**key))
    check(stored.push_notification_config.url == config.url, 'the URL is wrong')


async def push_error():
    task, client = await send('ask'), await connect()
    request = GetTaskPushNotificationConfigParams(id=task.id, push_notification_config_id='missing')
    await expect_error(client.get_task_callback(request), MISSING)


# The SDK reports an error of HTTP+JSON by its status only.
MISSING = '-32001|not found' if BINDING == 'JSONRPC' else '404'
ENDED = 'completed' if BINDING == 'JSONRPC' else '400'
NOT_CANCELABLE = '-32002' if BINDING == 'JSONRPC' else '400'
AUTHENTICATED = [extended_card_error, send_unauthorized] if TOKEN else []
main(
    [card, card_signature, extended_card, *AUTHENTICATED]
    + [send_, send_error, send_message, send_input, stream_, stream_error, get, get_error]
    + [subscribe, subscribe_error, cancel, cancel_error, push, push_error]
)
