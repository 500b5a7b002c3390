// A runtime that does everything that the documents allow, in the least usual way.
//
// By `GENKIT_REFLECTION_V2_SERVER` it dials in (V2); without it, it listens and leaves a
// file (V1).

import { dial } from './socket.mjs';
import { serve } from './http.mjs';

export const ID = `odd ${'x'.repeat(120)}-é/..%2f`;

const url = process.env.GENKIT_REFLECTION_V2_SERVER;
if (url) dial(url);
else await serve();

process.on('SIGTERM', () => process.exit(0));
