// The agents of ../app for the official JavaScript servers: what they do is written once, and each
// version of the server has a form for its events.

/** Does what a message says. */
class Script {
  /** What opens the gates of the tasks that wait, by their id. */
  #gates = new Map();

  constructor(form) {
    this.form = form;
  }

  execute = async (context, bus) => {
    const { form } = this;
    const said = form.text(context.userMessage);
    const publish = (event) => bus.publish(event);
    const end = (state, text) => publish(form.status(context, state, text, true));
    if (!context.task) publish(form.task(context));
    // The second message of a task is the answer to the question of `ask`.
    switch (context.task ? 'answer' : said.split(' ')[0]) {
      case 'ask':
        end('input-required', 'which city?');
        break;
      case 'chunks':
        publish(form.artifact(context, 'text', 'one ', false, false));
        publish(form.artifact(context, 'text', 'two ', true, false));
        publish(form.artifact(context, 'text', 'three', true, true));
        end('completed');
        break;
      case 'fail':
        end('failed', 'no such city');
        break;
      case 'hold': {
        publish(form.status(context, 'working', 'holding', false));
        const isReleased = await new Promise((resolve) => this.#gates.set(context.taskId, resolve));
        this.#gates.delete(context.taskId);
        if (isReleased) {
          publish(form.artifact(context, 'echo', 'released', false, true));
          end('completed');
        } else {
          end('canceled');
        }
        break;
      }
      case 'release':
        this.#gates.get(said.split(' ')[1])?.(true);
      // falls through
      default: {
        const result = context.task ? `answer: ${said}` : said;
        publish(form.artifact(context, 'echo', result, false, true));
        end('completed');
      }
    }
    bus.finished();
  };

  cancelTask = async (taskId) => this.#gates.get(taskId)?.(false);
}

/** Answers with a message and without a task. */
class Reply {
  constructor(form) {
    this.form = form;
  }

  execute = async (context, bus) => {
    const { form } = this;
    bus.publish(form.reply(context, `re: ${form.text(context.userMessage)}`));
    bus.finished();
  };

  cancelTask = async () => {};
}

const executor = (form, name) => (name === 'reply' ? new Reply(form) : new Script(form));

const now = () => new Date().toISOString();

/** The members of a card that both versions have. */
const common = (name) => ({
  name: name === 'script' ? 'Script' : name,
  description: name === 'reply' ? 'Answers without a task.' : 'Does what a message says.',
  version: '1',
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
});

// --- 0.3 -------------------------------------------------------------------------------------

const parts0 = (text) => [{ kind: 'text', text }];

const message0 = ({ taskId, contextId }, text) => ({
  kind: 'message',
  messageId: crypto.randomUUID(),
  role: 'agent',
  parts: parts0(text),
  taskId,
  contextId,
});

const FORM_0 = {
  text: (message) => message.parts.map(({ text }) => text).join(''),
  task: ({ taskId, contextId, userMessage }) => ({
    kind: 'task',
    id: taskId,
    contextId,
    status: { state: 'submitted', timestamp: now() },
    history: [userMessage],
  }),
  status: (context, state, text, final) => ({
    kind: 'status-update',
    taskId: context.taskId,
    contextId: context.contextId,
    status: { state, timestamp: now(), ...(text && { message: message0(context, text) }) },
    final,
  }),
  artifact: ({ taskId, contextId }, artifactId, text, append, lastChunk) => ({
    kind: 'artifact-update',
    taskId,
    contextId,
    artifact: { artifactId, parts: parts0(text) },
    append,
    lastChunk,
  }),
  reply: ({ contextId }, text) => message0({ contextId }, text),
};

function card0(name, url, grpcAddress) {
  const interfaces = ['JSONRPC', 'HTTP+JSON'].map((transport) => ({ url, transport }));
  interfaces.push({ url: grpcAddress, transport: 'GRPC' });
  return {
    ...common(name),
    protocolVersion: '0.3.0',
    url,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: interfaces,
    capabilities: { streaming: true, pushNotifications: true },
    skills: [{ id: name, name, description: name, tags: [] }],
    ...(name === 'locked' && {
      securitySchemes: { bearer: { type: 'http', scheme: 'Bearer' } },
      security: [{ bearer: [] }],
    }),
  };
}

async function load0() {
  const sdk = await import('a2a-js-0.3.14/server');
  const web = await import('a2a-js-0.3.14/server/express');
  const grpc = await import('a2a-js-0.3.14/server/grpc');
  const handlers = (card, name) => {
    const pushes = new sdk.InMemoryPushNotificationStore();
    const requestHandler = new sdk.DefaultRequestHandler(
      card,
      new sdk.InMemoryTaskStore(),
      executor(FORM_0, name),
      undefined,
      pushes,
      new sdk.DefaultPushNotificationSender(pushes),
    );
    const options = { requestHandler, userBuilder: web.UserBuilder.noAuthentication };
    return {
      card: web.agentCardHandler({ agentCardProvider: requestHandler }),
      jsonRpc: web.jsonRpcHandler(options),
      rest: web.restHandler(options),
      grpc: [[grpc.A2AService, grpc.grpcService(options)]],
    };
  };
  return { card: card0, handlers };
}

// --- 1.0 -------------------------------------------------------------------------------------

const STATES = {
  submitted: 1,
  working: 2,
  completed: 3,
  failed: 4,
  canceled: 5,
  'input-required': 6,
};

const parts1 = (text) => [
  { content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' },
];

const message1 = ({ taskId = '', contextId }, text) => ({
  messageId: crypto.randomUUID(),
  role: 2,
  parts: parts1(text),
  taskId,
  contextId,
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
});

const FORM_1 = {
  text: (message) => message.parts.map(({ content }) => content.value).join(''),
  task: ({ taskId, contextId, userMessage }) => ({
    kind: 'task',
    data: {
      id: taskId,
      contextId,
      status: { state: STATES.submitted, message: undefined, timestamp: now() },
      artifacts: [],
      history: [userMessage],
      metadata: undefined,
    },
  }),
  status: (context, state, text) => ({
    kind: 'statusUpdate',
    data: {
      taskId: context.taskId,
      contextId: context.contextId,
      status: {
        state: STATES[state],
        message: text ? message1(context, text) : undefined,
        timestamp: now(),
      },
      metadata: undefined,
    },
  }),
  artifact: ({ taskId, contextId }, artifactId, text, append, lastChunk) => ({
    kind: 'artifactUpdate',
    data: {
      taskId,
      contextId,
      artifact: {
        artifactId,
        name: '',
        description: '',
        parts: parts1(text),
        metadata: undefined,
        extensions: [],
      },
      append,
      lastChunk,
      metadata: undefined,
    },
  }),
  reply: ({ contextId }, text) => ({ kind: 'message', data: message1({ contextId }, text) }),
};

function card1(name, url, grpcAddress) {
  const addresses = { JSONRPC: url, 'HTTP+JSON': url, GRPC: grpcAddress };
  const interfaces = (protocolVersion) =>
    Object.entries(addresses).map(([protocolBinding, url]) => ({
      url,
      protocolBinding,
      tenant: '',
      protocolVersion,
    }));
  const scheme = { description: '', scheme: 'Bearer', bearerFormat: '' };
  const isLocked = name === 'locked';
  return {
    ...common(name),
    supportedInterfaces: [...interfaces('1.0'), ...interfaces('0.3')],
    provider: undefined,
    capabilities: { streaming: true, pushNotifications: true, extensions: [] },
    securitySchemes: isLocked
      ? { bearer: { scheme: { $case: 'httpAuthSecurityScheme', value: scheme } } }
      : {},
    securityRequirements: isLocked ? [{ schemes: { bearer: { list: [] } } }] : [],
    skills: [
      {
        id: name,
        name,
        description: name,
        tags: ['test'],
        examples: [],
        inputModes: [],
        outputModes: [],
        securityRequirements: [],
      },
    ],
    signatures: [],
  };
}

async function load1() {
  const sdk = await import('a2a-js-1.3.0/server');
  const web = await import('a2a-js-1.3.0/server/express');
  const grpc = await import('a2a-js-1.3.0/server/grpc');
  const compat = await import('a2a-js-1.3.0/compat/v0_3/server');
  const oldGrpc = await import('a2a-js-1.3.0/compat/v0_3/server/grpc');
  const legacyCompat = { enabled: true };
  const handlers = (card, name) => {
    const pushes = new sdk.InMemoryPushNotificationStore();
    const requestHandler = new sdk.DefaultRequestHandler(
      card,
      new sdk.InMemoryTaskStore(),
      executor(FORM_1, name),
      undefined,
      pushes,
      compat.createLegacyAwarePushNotificationSender(pushes),
    );
    const userBuilder = web.UserBuilder.noAuthentication;
    const options = { requestHandler, userBuilder, legacyCompat };
    return {
      card: web.agentCardHandler({ agentCardProvider: requestHandler, legacyCompat }),
      jsonRpc: web.jsonRpcHandler(options),
      rest: web.restHandler(options),
      grpc: [
        [grpc.A2AService, grpc.grpcService(options)],
        [oldGrpc.LegacyA2AService, oldGrpc.legacyGrpcService(options)],
      ],
    };
  };
  return { card: card1, handlers };
}

export const VERSIONS = {
  '0.3.14': { load: load0 },
  '1.3.0': { load: load1 },
};
