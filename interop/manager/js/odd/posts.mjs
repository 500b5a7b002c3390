// Spans and log lines in every form that the telemetry port takes.

import http from 'node:http';
import { float, kept, write, ODD } from './json.mjs';

const SPAN = 'B7AD6B7169203331';
const base = new URL(process.env.GENKIT_TELEMETRY_SERVER);

/** Posts in this form; answers the status and what was said. */
export async function post(kind, traceId) {
  const [path, type, body] = FORMS[kind](traceId);
  return send(path, type, body);
}

const FORMS = {
  native: (id) => ['/api/traces', 'application/json', write(trace(id))],
  'native, slashes': (id) => ['//api//traces', 'Application/JSON ; charset="utf-8"', write(trace(id))],
  'native, list': (id) => ['/api/traces/', 'application/json', write([started(id), trace(id)])],
  'native, plain lines': (id) => ['/api/traces', 'application/json', write(trace(id), { ...ODD, space: '\r\n' })],
  'otlp, json': (id) => ['/api/otlp/v1/traces', 'application/json', write(exported(id))],
  'otlp, protobuf': (id) => ['/api/otlp//v1/traces', 'application/x-protobuf', protobuf(id)],
  'otlp, logs': (id) => ['/api/otlp/v1/logs', 'application/json', write(logs(id))],
  'otlp, logs and spans': (id) => ['/api/otlp', 'application/json', write({ ...logs(id), ...exported(id) })],
  metrics: () => ['/api/otlp/v1/metrics', 'application/json', write({ resourceMetrics: null })],
  'bad, native': () => ['/api/traces', 'application/json', '{"traceId":7,"spans":{}}'],
  'bad, otlp': () => ['/api/otlp', 'application/json', '{"resourceSpans":7}'],
};

function span(traceId, endTime) {
  return {
    traceId, spanId: SPAN, parentSpanId: null, startTime: 1794724507238, endTime, displayName: 'odd flow',
    attributes: kept({ 'genkit:type': 'action', 'genkit:metadata:subtype': 'flow', 'genkit:name': 'odd', count: 3 }),
    instrumentationLibrary: { name: 'odd', version: null, schemaUrl: null }, spanKind: 'INTERNAL', links: null,
    sameProcessAsParentSpan: null, status: { code: float(0), message: null }, timeEvents: null,
  };
}

function trace(traceId) {
  const spans = kept({ [SPAN]: span(traceId, 1794724507240) });
  return { traceId, displayName: 'odd flow', startTime: 1794724507238, endTime: 1794724507240, spans };
}

function started(traceId) {
  return { traceId, displayName: null, startTime: null, endTime: null, spans: kept({ [SPAN]: span(traceId, 0) }) };
}

function exported(traceId) {
  const attributes = [
    { key: 'count', value: { intValue: 3 } },
    { key: 'text', value: { stringValue: 'é', intValue: null } },
    { key: 'nothing', value: null },
  ];
  const one = {
    traceId, spanId: SPAN, parentSpanId: null, traceState: null, flags: null, name: 'odd flow', kind: 1,
    startTimeUnixNano: '1794724507238000000', endTimeUnixNano: '1794724507240000000', attributes,
    droppedAttributesCount: 0, events: null, links: null, status: { code: float(0), message: null },
  };
  const scope = { name: 'odd', version: null, attributes: null };
  return { resourceSpans: [{ resource: null, schemaUrl: null, scopeSpans: [{ scope, spans: [one], schemaUrl: null }] }] };
}

function logs(traceId) {
  const line = {
    timeUnixNano: '1794724507239000000', observedTimeUnixNano: null, severityNumber: 9, severityText: null,
    body: { stringValue: 'an odd line' }, attributes: null, traceId, spanId: SPAN, flags: null,
  };
  return { resourceLogs: [{ resource: null, scopeLogs: [{ scope: null, logRecords: [line] }] }] };
}

/** The same span as protobuf: fields in another order, unknown ones among them. */
function protobuf(traceId) {
  const field = (number, bytes) => Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
  const fixed = (number, value) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(value);
    return Buffer.concat([varint((number << 3) | 1), bytes]);
  };
  const number = (place, value) => Buffer.concat([varint(place << 3), varint(value)]);
  const one = Buffer.concat([
    field(5, Buffer.from('odd flow')), fixed(8, 1794724507240000000n), field(200, Buffer.from('unknown')),
    number(6, 1), fixed(7, 1794724507238000000n), field(2, Buffer.from(SPAN, 'hex')), field(1, Buffer.from(traceId, 'hex')),
  ]);
  return field(1, field(2, field(2, one)));
}

function varint(value) {
  const bytes = [];
  for (; value > 127; value >>>= 7) bytes.push((value & 127) | 128);
  return Buffer.from([...bytes, value]);
}

/** In pieces of unknown length, with the token, or as Python does, without it. */
function send(path, type, body) {
  const prefix = process.env.ODD_TOKEN === 'dropped' ? '' : base.pathname;
  const headers = { 'CONTENT-TYPE': type, 'transfer-encoding': 'chunked' };
  const options = { host: base.hostname, port: base.port, path: prefix + path, method: 'POST', headers };
  return new Promise((resolve, reject) => {
    const request = http.request(options, (response) => {
      let text = '';
      response.on('data', (data) => (text += data)).on('end', () => resolve({ status: response.statusCode, text }));
    });
    request.once('error', reject);
    const bytes = Buffer.from(body);
    for (let place = 0; place < bytes.length; place += 7) request.write(bytes.subarray(place, place + 7));
    request.end();
  });
}
