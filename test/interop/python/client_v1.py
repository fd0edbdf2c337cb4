"""Runs the cases with the official Python SDK of A2A 1.0."""

import asyncio
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientCallContext, ClientConfig, ClientFactory
from a2a.client.auth import AuthInterceptor, CredentialService
from a2a.types import (
    AuthenticationInfo,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
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
    config = ClientConfig(streaming=streaming, supported_protocol_bindings=[BINDING])
    interceptors = [AuthInterceptor(Credentials(token))] if token else []
    return ClientFactory(config).create(await resolve_card(), interceptors)


def message(text, **fields):
    return Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)], **fields)


async def send(text, client=None, configuration=None, **fields):
    """Returns the task or the message of the response."""
    request = SendMessageRequest(message=message(text, **fields), configuration=configuration)
    updates = await read_all((client or await connect()).send_message(request))
    check(len(updates) == 1, f'{len(updates)} responses')
    return getattr(updates[0], updates[0].WhichOneof('payload'))


async def start(text):
    return await send(text, configuration=SendMessageConfiguration(return_immediately=True))


async def stream(text, **fields):
    client = await connect(streaming=True)
    return await read_all(client.send_message(SendMessageRequest(message=message(text, **fields))))


def check_completed(updates):
    check(updates[0].HasField('task'), f'the first update is {updates[0]}')
    state = updates[-1].status_update.status.state
    check(state == TaskState.TASK_STATE_COMPLETED, f'the last state is {state}')


async def card():
    card = await resolve_card()
    check(card.supported_interfaces[0].protocol_version == '1.0', 'the first interface is not one of A2A 1.0')
    check(('bearer' in card.security_schemes) == bool(TOKEN), 'the card has the wrong security schemes')


async def card_signature():
    def key(key_id, keys_url):
        keys = httpx.get(keys_url).json()['keys']
        return PyJWK(next(key for key in keys if key['kid'] == key_id))

    await resolve_card(signature_verifier=create_signature_verifier(key, ['EdDSA']))


async def extended_card():
    card = await (await connect()).get_extended_agent_card(GetExtendedAgentCardRequest())
    check('urn:acta:rings' in [extension.uri for extension in card.capabilities.extensions], 'the card does not name the rings')


async def extended_card_error():
    client = await connect('wrong')
    await expect_error(client.get_extended_agent_card(GetExtendedAgentCardRequest()), '(?i)unauth|token|401')


async def send_unauthorized():
    await expect_error(send('hello', await connect('')), '(?i)unauth|token|401')


async def send_():
    task = await send('hello')
    check(task.status.state == TaskState.TASK_STATE_COMPLETED, f'the state is {task.status.state}')
    check(task.artifacts[0].parts[0].text == 'HELLO', 'the artifact is wrong')


async def send_error():
    await expect_error(send('hello', task_id=str(uuid.uuid4())), 'TaskNotFoundError')


async def send_message():
    reply = await send('reply')
    check(isinstance(reply, Message), 'the response is not a message')


async def send_input():
    task = await send('ask')
    check(task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED, f'the state is {task.status.state}')
    continued = await send('go on', task_id=task.id, context_id=task.context_id)
    check(continued.id == task.id and continued.status.state == TaskState.TASK_STATE_COMPLETED, 'the task is not completed')


async def stream_():
    check_completed(await stream('one two chunks 3'))


async def stream_error():
    await expect_error(stream('hello', task_id=str(uuid.uuid4())), 'TaskNotFoundError')


async def get():
    task = await start('sleep 300ms')
    client = await connect()
    while task.status.state != TaskState.TASK_STATE_COMPLETED:
        await asyncio.sleep(0.1)
        task = await client.get_task(GetTaskRequest(id=task.id))


async def get_error():
    await expect_error((await connect()).get_task(GetTaskRequest(id=str(uuid.uuid4()))), 'TaskNotFoundError')


async def list_():
    client, context_id, ids, token = await connect(), str(uuid.uuid4()), set(), None
    for text in ('a', 'b', 'c'):
        await send(text, context_id=context_id)
    while token != '':
        page = await client.list_tasks(ListTasksRequest(context_id=context_id, page_size=2, page_token=token or ''))
        ids |= {task.id for task in page.tasks}
        token = page.next_page_token
    check(len(ids) == 3, f'the pages have {len(ids)} tasks')


async def list_error():
    await expect_error((await connect()).list_tasks(ListTasksRequest(page_token='wrong')), 'InvalidParamsError.*pageToken')


async def subscribe():
    task = await start('sleep 1s')
    client = await connect(streaming=True)
    check_completed(await read_all(client.subscribe(SubscribeToTaskRequest(id=task.id))))


async def subscribe_error():
    task = await send('hello')
    client = await connect(streaming=True)
    await expect_error(read_all(client.subscribe(SubscribeToTaskRequest(id=task.id))), 'UnsupportedOperationError')


async def cancel():
    task = await start('sleep 60s')
    canceled = await (await connect()).cancel_task(CancelTaskRequest(id=task.id))
    check(canceled.status.state == TaskState.TASK_STATE_CANCELED, f'the state is {canceled.status.state}')


async def cancel_error():
    task = await send('hello')
    await expect_error((await connect()).cancel_task(CancelTaskRequest(id=task.id)), 'TaskNotCancelableError')


async def push():
    task, client = await send('ask'), await connect()
    config = TaskPushNotificationConfig(
        task_id=task.id,
        url='http://127.0.0.1:9/hook',
        token='opaque',
        authentication=AuthenticationInfo(scheme='Bearer', credentials='c'),
    )
    created = await client.create_task_push_notification_config(config)
    key = {'task_id': task.id, 'id': created.id}
    stored = await client.get_task_push_notification_config(GetTaskPushNotificationConfigRequest(**key))
    check(stored.url == config.url, f'the URL is {stored.url}')
    request = ListTaskPushNotificationConfigsRequest(task_id=task.id)
    check(len((await client.list_task_push_notification_configs(request)).configs) == 1, 'the list has not one configuration')
    await client.delete_task_push_notification_config(DeleteTaskPushNotificationConfigRequest(**key))
    check(len((await client.list_task_push_notification_configs(request)).configs) == 0, 'the configuration is not deleted')


async def push_error():
    task, client = await send('ask'), await connect()
    request = GetTaskPushNotificationConfigRequest(task_id=task.id, id='missing')
    await expect_error(client.get_task_push_notification_config(request), 'NotFound|not found')


AUTHENTICATED = [extended_card_error, send_unauthorized] if TOKEN else []
main(
    [card, card_signature, extended_card, *AUTHENTICATED]
    + [send_, send_error, send_message, send_input, stream_, stream_error, get, get_error, list_, list_error]
    + [subscribe, subscribe_error, cancel, cancel_error, push, push_error]
)
