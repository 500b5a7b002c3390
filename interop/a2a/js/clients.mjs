// The versions of the official client, each behind the same few functions. Tasks, messages and
// events are brought into one form, so that the cases are written once.

import { InterceptingCall, credentials, status } from '@grpc/grpc-js';

const KEY = 'sekret';

/** The status of the last answer: most versions hide it when the body is an error. */
export const last = { status: undefined };

async function noted(...request) {
  const response = await fetch(...request);
  last.status = response.status;
  return response;
}

/** Adds the key after the server has asked for it, by the hook that all versions have. */
const withKey = (sdk) =>
  sdk.createAuthenticatingFetchWithRetry(noted, {
    headers: async () => ({}),
    shouldRetryWithHeaders: async (_, response) =>
      response.status === 401 ? { Authorization: `Bearer ${KEY}` } : undefined,
  });

/** Does for gRPC what the functions above do: notes the status, and adds the key. */
const interceptor = (key) => (options, nextCall) =>
  new InterceptingCall(nextCall(options), {
    start(metadata, _, next) {
      if (key) metadata.set('authorization', `Bearer ${KEY}`);
      next(metadata, {
        onReceiveStatus(received, pass) {
          last.status = received.code === status.UNAUTHENTICATED ? 401 : undefined;
          pass(received);
        },
      });
    },
  });

const text = (parts = []) => parts.map((part) => part.text ?? part.content?.value ?? '').join('');

const artifacts = (task) => (task.artifacts ?? []).map((it) => text(it.parts)).join('|');

// --- 0.3 -------------------------------------------------------------------------------------

const message0 = (said, taskId) => ({
  message: {
    kind: 'message',
    messageId: crypto.randomUUID(),
    role: 'user',
    parts: [{ kind: 'text', text: said }],
    ...(taskId && { taskId }),
  },
});

const configuration0 = ({ wait = true, hook }) => ({
  blocking: wait,
  ...(hook && { pushNotificationConfig: hook }),
});

const status0 = (status) => ({ state: status.state, said: text(status.message?.parts) });

function event0(event) {
  switch (event.kind) {
    case 'task':
      return { kind: 'task', id: event.id, ...status0(event.status), result: artifacts(event) };
    case 'message':
      return { kind: 'message', said: text(event.parts) };
    case 'status-update':
      return { kind: 'status', ...status0(event.status), final: event.final };
    case 'artifact-update':
      return {
        kind: 'artifact',
        result: text(event.artifact.parts),
        append: event.append ?? false,
        last: event.lastChunk ?? false,
      };
    default:
      throw new Error(`an unknown event: ${JSON.stringify(event)}`);
  }
}

async function* events(stream, event) {
  for await (const it of stream) yield event(it);
}

/** The client of 0.3.4 answers with the JSON-RPC response and does not throw errors. */
function result(response) {
  if ('error' in response) {
    throw Object.assign(new Error(response.error.message), { code: response.error.code });
  }
  return response.result;
}

async function connectOldest(sdk, url, _, key) {
  const fetchImpl = key ? withKey(sdk) : noted;
  const client = await sdk.A2AClient.fromCardUrl(`${url}/.well-known/agent-card.json`, {
    fetchImpl,
  });
  return {
    card: () => client.getAgentCard(),
    send: async (said, { taskId, ...how } = {}) => {
      const params = { ...message0(said, taskId), configuration: configuration0(how) };
      return event0(result(await client.sendMessage(params)));
    },
    stream: (said) => events(client.sendMessageStream(message0(said)), event0),
    get: async (id) => event0(result(await client.getTask({ id }))),
    cancel: async (id) => event0(result(await client.cancelTask({ id }))),
    subscribe: (id) => events(client.resubscribeTask({ id }), event0),
    notify: async (taskId, hook) =>
      result(
        await client.setTaskPushNotificationConfig({ taskId, pushNotificationConfig: hook }),
      ).pushNotificationConfig.url,
  };
}

async function connect0(sdk, url, binding, key) {
  const client = await factory(sdk, binding, key).createFromUrl(`${url}/`);
  return {
    card: () => client.getAgentCard(),
    send: async (said, { taskId, ...how } = {}) => {
      const configuration = configuration0(how);
      return event0(await client.sendMessage({ ...message0(said, taskId), configuration }));
    },
    stream: (said) => events(client.sendMessageStream(message0(said)), event0),
    get: async (id) => event0(await client.getTask({ id })),
    cancel: async (id) => event0(await client.cancelTask({ id })),
    subscribe: (id) => events(client.resubscribeTask({ id }), event0),
    notify: async (taskId, hook) => {
      const params = { taskId, pushNotificationConfig: hook };
      return (await client.setTaskPushNotificationConfig(params)).pushNotificationConfig.url;
    },
  };
}

/** A factory of clients that speak one binding only. */
function factory(sdk, binding, key, more = {}) {
  const options = { fetchImpl: key ? withKey(sdk) : noted, ...more };
  return new sdk.ClientFactory({
    transports: [transport(sdk, binding, key, options)],
    cardResolver: new sdk.DefaultAgentCardResolver(options),
  });
}

function transport(sdk, binding, key, options) {
  switch (binding) {
    case 'JSONRPC':
      return new sdk.JsonRpcTransportFactory(options);
    case 'HTTP+JSON':
      return new sdk.RestTransportFactory(options);
    default:
      return new sdk.GrpcTransportFactory({
        ...options,
        grpcChannelCredentials: credentials.createInsecure(),
        grpcCallOptions: { interceptors: [interceptor(key)] },
      });
  }
}

// --- 1.0 -------------------------------------------------------------------------------------

const STATES = [
  'unspecified',
  'submitted',
  'working',
  'completed',
  'failed',
  'canceled',
  'input-required',
  'rejected',
  'auth-required',
];

const message1 = (said, taskId = '') => ({
  tenant: '',
  message: {
    messageId: crypto.randomUUID(),
    contextId: '',
    taskId,
    role: 1,
    parts: [
      { content: { $case: 'text', value: said }, metadata: undefined, filename: '', mediaType: '' },
    ],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  },
  metadata: undefined,
});

const hook1 = ({ url, token }, taskId = '') => ({
  tenant: '',
  id: '',
  taskId,
  url,
  token,
  authentication: undefined,
});

const status1 = ({ state, message }) => ({ state: STATES[state], said: text(message?.parts) });

const task1 = (it) => ({ kind: 'task', id: it.id, ...status1(it.status), result: artifacts(it) });

const sent1 = (it) => ('messageId' in it ? { kind: 'message', said: text(it.parts) } : task1(it));

function event1({ payload: { $case, value } }) {
  switch ($case) {
    case 'task':
    case 'message':
      return sent1(value);
    case 'statusUpdate':
      return { kind: 'status', ...status1(value.status) };
    case 'artifactUpdate':
      return {
        kind: 'artifact',
        result: text(value.artifact.parts),
        append: value.append,
        last: value.lastChunk,
      };
    default:
      throw new Error(`an unknown event: ${$case}`);
  }
}

/** Connects as to a server that has version 0.3 only. */
async function connectLegacy(sdk, url, binding, key) {
  const clients = factory(sdk, binding, key, { legacyCompat: { enabled: true } });
  const card = await clients.options.cardResolver.resolve(`${url}/`);
  const is0 = ({ protocolVersion }) => protocolVersion === '0.3';
  const supportedInterfaces = card.supportedInterfaces.filter(is0);
  return agent1(await clients.createFromAgentCard({ ...card, supportedInterfaces }));
}

async function connect1(sdk, url, binding, key) {
  return agent1(await factory(sdk, binding, key).createFromUrl(`${url}/`));
}

function agent1(client) {
  const configuration = ({ wait = true, hook } = {}) => ({
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: hook && hook1(hook),
      returnImmediately: !wait,
    },
  });
  const name = (id) => ({ tenant: '', id });
  return {
    card: () => client.getAgentCard(),
    send: async (said, { taskId, ...how } = {}) =>
      sent1(await client.sendMessage({ ...message1(said, taskId), ...configuration(how) })),
    stream: (said) =>
      events(client.sendMessageStream({ ...message1(said), ...configuration() }), event1),
    get: async (id) => task1(await client.getTask(name(id))),
    cancel: async (id) => task1(await client.cancelTask({ ...name(id), metadata: undefined })),
    subscribe: (id) => events(client.resubscribeTask(name(id)), event1),
    notify: async (taskId, hook) =>
      (await client.createTaskPushNotificationConfig(hook1(hook, taskId))).url,
  };
}

// --- errors ----------------------------------------------------------------------------------

const CODES = { TaskNotFoundError: -32001, TaskNotCancelableError: -32002 };

/** The code of the protocol that an error carries; the oldest client has it in the text. */
export function codeOf(error) {
  const named = CODES[error.name] ?? CODES[error.constructor.name];
  const written = /\(Code: (-\d+)\)/i.exec(error.message);
  return named ?? error.code ?? (written && Number(written[1]));
}

const load = (version) => async () => ({
  ...(await import(`a2a-js-${version}/client`)),
  ...(await import(`a2a-js-${version}/client/grpc`)),
});

const BINDINGS = ['JSONRPC', 'HTTP+JSON', 'GRPC'];

/** The package, how to connect, and the bindings that the client speaks. */
export const CLIENTS = {
  '0.3.4': {
    load: () => import('a2a-js-0.3.4/client'),
    connect: connectOldest,
    bindings: ['JSONRPC'],
  },
  '0.3.14': { load: load('0.3.14'), connect: connect0, bindings: BINDINGS },
  '1.3.0': { load: load('1.3.0'), connect: connect1, bindings: BINDINGS },
  '1.3.0 as 0.3': { load: load('1.3.0'), connect: connectLegacy, bindings: BINDINGS },
};
