// The agents of ../app on an official JavaScript server, for oxikit's client to call.
//
//     node server.mjs VERSION
//
// VERSION is 0.3.14 or 1.3.0. Listens on 127.0.0.1 and a free port, and prints where. The server
// 1.3.0 serves version 0.3 too.

import { createServer } from 'node:http';

import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import express from 'express';

import { VERSIONS } from './agents.mjs';

const KEY = 'sekret';

const [version] = process.argv.slice(2);
const { load } = VERSIONS[version];

/** Lets requests with the key pass. */
function keyed(request, response, next) {
  if (request.headers.authorization === `Bearer ${KEY}`) return next();
  response.set('WWW-Authenticate', 'Bearer');
  return response.status(401).json({ error: 'a key is needed' });
}

/** Lets calls with the key pass. */
function keyedCalls(service) {
  const keyed = (method) => (call, callback) => {
    if (call.metadata.get('authorization')[0] === `Bearer ${KEY}`) return method(call, callback);
    const error = { code: status.UNAUTHENTICATED, details: 'a key is needed' };
    return callback ? callback(error) : call.emit('error', error);
  };
  return Object.fromEntries(Object.entries(service).map(([name, it]) => [name, keyed(it)]));
}

/** Starts a gRPC server on a free port. gRPC has no path by which agents could share one. */
function listen() {
  const grpc = new Server();
  return new Promise((resolve, reject) => {
    grpc.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve({ grpc, address: `127.0.0.1:${port}` }),
    );
  });
}

const { card, handlers } = await load();
const app = express();
const server = createServer(app);
server.listen(0, '127.0.0.1', async () => {
  const base = `http://127.0.0.1:${server.address().port}`;
  for (const name of ['script', 'reply', 'locked']) {
    const path = `/a2a/${name}`;
    const { grpc, address } = await listen();
    const agent = handlers(card(name, `${base}${path}`, address), name);
    for (const [definition, service] of agent.grpc) {
      grpc.addService(definition, name === 'locked' ? keyedCalls(service) : service);
    }
    app.use(`${path}/.well-known/agent-card.json`, agent.card);
    if (name === 'locked') app.use(path, keyed);
    // The handler of JSON-RPC answers each POST below its path, also those of the other binding.
    app.use(path, (request, ...rest) =>
      request.path === '/' ? agent.jsonRpc(request, ...rest) : agent.rest(request, ...rest),
    );
  }
  console.log(`listening on ${base}`);
});
