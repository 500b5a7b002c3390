// A card, read for people. Cards come from strangers: members of another form than expected are
// left out here, and stay in the raw card.

export interface Skill {
  id: string;
  name: string;
  description: string;
  tags: string[];
  examples: string[];
  modes: string[];
}

export interface CardFacts {
  name: string;
  description: string;
  version: string;
  provider: string;
  documentation: string;
  capabilities: { name: string; isOn: boolean }[];
  inputModes: string[];
  outputModes: string[];
  skills: Skill[];
  security: { name: string; about: string }[];
  isSigned: boolean;
}

type Members = Record<string, unknown>;

const members = (value: unknown): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
const list = (value: unknown): Members[] => (Array.isArray(value) ? value.map(members) : []);

export function readCard(value: unknown): CardFacts {
  const card = members(value);
  const provider = members(card['provider']);
  return {
    name: text(card['name']),
    description: text(card['description']),
    version: text(card['version']),
    provider: [text(provider['organization']), text(provider['url'])].filter(Boolean).join(', '),
    documentation: text(card['documentationUrl']),
    capabilities: Object.entries(members(card['capabilities']))
      .filter(([, isOn]) => typeof isOn === 'boolean')
      .map(([name, isOn]) => ({ name, isOn: isOn === true })),
    inputModes: texts(card['defaultInputModes']),
    outputModes: texts(card['defaultOutputModes']),
    skills: list(card['skills']).map(readSkill),
    security: readSecurity(card),
    isSigned: list(card['signatures']).length > 0,
  };
}

function readSkill(skill: Members): Skill {
  return {
    id: text(skill['id']),
    name: text(skill['name']) || text(skill['id']),
    description: text(skill['description']),
    tags: texts(skill['tags']),
    examples: texts(skill['examples']),
    modes: texts(skill['inputModes']),
  };
}

/** Schemes are `{"type": "apiKey", …}` in version 0.3 and `{"apiKeySecurityScheme": {…}}` in 1.0. */
function readSecurity(card: Members): CardFacts['security'] {
  return Object.entries(members(card['securitySchemes'])).map(([name, value]) => {
    const scheme = members(value);
    const wrapped = Object.entries(scheme).find(([member]) => member.endsWith('SecurityScheme'));
    const inner = wrapped ? members(wrapped[1]) : scheme;
    const type = wrapped ? wrapped[0].replace(/SecurityScheme$/, '') : text(scheme['type']);
    const where = [text(inner['location']) || text(inner['in']), text(inner['name'])].filter(Boolean).join(' ');
    const about = [type, text(inner['scheme']), where, text(inner['description'])].filter(Boolean).join(', ');
    return { name, about };
  });
}
