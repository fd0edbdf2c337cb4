/** The cases that every client runs, in order, with what the client does. A client omits a case that its SDK has no operation for. */
export const CASES = {
  card: 'gets the agent card with its own resolver',
  'card-signature': 'verifies the signature of the card',
  'extended-card': 'gets the extended agent card',
  'extended-card-error': 'gets an error for the extended card with a wrong credential',
  send: 'sends a message and gets the completed task',
  'send-error': 'gets an error for a message to a missing task',
  'send-message': 'gets a direct message response',
  'send-input': 'continues a task that requires input',
  'send-unauthorized': 'gets an error for a message without a credential',
  stream: 'streams a message until its task is completed',
  'stream-error': 'gets an error for a streamed message to a missing task',
  get: 'starts a task and gets it until it is completed',
  'get-error': 'gets an error for a missing task',
  list: 'lists tasks page by page',
  'list-error': 'gets an error for a wrong page token',
  subscribe: 'subscribes to a working task until it is completed',
  'subscribe-error': 'gets an error for a subscription to a completed task',
  cancel: 'cancels a working task',
  'cancel-error': 'gets an error for the cancellation of a completed task',
  push: 'creates, gets, lists and deletes a push configuration',
  'push-error': 'gets an error for a missing push configuration',
};

/** Cases that need a server with authentication. */
export const AUTHENTICATED_CASES = ['extended-card-error', 'send-unauthorized'];
