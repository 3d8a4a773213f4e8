// An OpenID provider for the tests: node server.mjs PORT
//
// A client asks for roles by its name: `viewer`, `operator+producer`, `none`; options follow a slash:
// `viewer/institute=ACME`, `viewer/ttl=1`. Every client's secret is `secret`. So a test needs no set-up.
// `console` is a public client with PKCE; whoever signs in has the roles that their login name spells.
//
// Hooks that only tests have:
//   POST /test/rotate     a new key signs; the old one stays published
//   POST /test/withdraw   only the key that signs now stays published
//   GET  /test/requests   how often the key set was asked for
import { createServer } from 'node:http';
import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import Provider from 'oidc-provider';

const port = Number(process.argv[2]);
const issuer = `http://127.0.0.1:${port}`;
const audience = 'muster';
const requests = { jwks: 0 };

let serial = 0;
let keys = [];
let handle;

async function newKey() {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
  serial += 1;
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: `key-${serial}-${port}` };
}

/** `operator+producer/institute=ACME/ttl=5` */
function grants(name) {
  const [roles, ...options] = name.split('/');
  const option = Object.fromEntries(options.map((text) => text.split('=')));
  return {
    roles: roles === 'none' ? [] : roles.split('+'),
    institute: option.institute,
    audience: option.audience ?? audience,
    ttl: Number(option.ttl ?? 600),
  };
}

function claimsOf(name) {
  const { roles, institute } = grants(name);
  return { roles, realm_access: { roles }, scope_roles: roles.join(' '), ...(institute && { institute_id: institute }) };
}

const consoleClient = {
  client_id: 'console',
  token_endpoint_auth_method: 'none',
  application_type: 'native', // any port of the loopback callback
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  redirect_uris: ['http://127.0.0.1/callback', 'http://127.0.0.1/', 'http://localhost/', 'http://127.0.0.1/console/signed-in'],
};

/** Everything in memory; clients exist by being named. */
class Memory {
  constructor(kind) {
    this.kind = kind;
    this.rows = new Map();
  }

  async find(id) {
    if (this.kind !== 'Client') return this.rows.get(id);
    return {
      client_id: id,
      client_secret: 'secret',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    };
  }

  async upsert(id, payload) { this.rows.set(id, payload); }

  async findByUid(uid) { return [...this.rows.values()].find((row) => row.uid === uid); }

  async findByUserCode(code) { return [...this.rows.values()].find((row) => row.userCode === code); }

  async consume(id) { this.rows.get(id).consumed = Math.floor(Date.now() / 1000); }

  async destroy(id) { this.rows.delete(id); }

  async revokeByGrantId(grantId) {
    for (const [id, row] of this.rows) if (row.grantId === grantId) this.rows.delete(id);
  }
}

const stores = new Map();
function adapter(kind) {
  if (!stores.has(kind)) stores.set(kind, new Memory(kind));
  return stores.get(kind);
}

function serve() {
  const provider = new Provider(issuer, {
    adapter,
    jwks: { keys },
    cookies: { keys: ['for tests only'] },
    clients: [consoleClient],
    scopes: ['openid', 'offline_access'],
    claims: { openid: ['sub', 'roles', 'institute_id'] },
    clientBasedCORS: () => true,
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...claimsOf(id) }) }),
    extraTokenClaims: (_context, token) => claimsOf(token.accountId ?? token.clientId),
    ttl: { ClientCredentials: (_context, token, client) => grants(client.clientId).ttl },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'urn:muster',
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, _resource, client) => ({
          scope: 'openid',
          audience: client.clientId === 'console' ? audience : grants(client.clientId).audience,
          accessTokenTTL: client.clientId === 'console' ? 600 : grants(client.clientId).ttl,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  });
  handle = provider.callback();
}

async function changeKeys(change) {
  keys = await change();
  serve();
  return { kids: keys.map((key) => key.kid) };
}

const hooks = {
  'POST /test/rotate': () => changeKeys(async () => [await newKey(), ...keys]),
  'POST /test/withdraw': () => changeKeys(async () => keys.slice(0, 1)),
  'GET /test/requests': async () => requests,
};

await changeKeys(async () => [await newKey()]);
createServer(async (request, response) => {
  const hook = hooks[`${request.method} ${request.url}`];
  if (hook) {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(await hook()));
    return;
  }
  if (request.url.startsWith('/jwks')) requests.jwks += 1;
  handle(request, response);
}).listen(port, '127.0.0.1');
