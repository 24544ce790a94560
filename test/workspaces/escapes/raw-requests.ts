/** Raw requests to the egress proxy, which must not reach a server that is not allowed. */
export type RawRequest = { tries: string; bytes(place: { site: number; secret: number }): string }

const REST = 'HTTP/1.1\r\nHost: allowed.test\r\nConnection: close\r\n\r\n'

export const RAW_REQUESTS: RawRequest[] = [
  {
    tries: 'a tunnel to another port of an allowed name',
    bytes: ({ secret }) => `CONNECT allowed.test:${secret} ${REST}`,
  },
  { tries: 'a tunnel to the SSH port', bytes: () => `CONNECT allowed.test:22 ${REST}` },
  ...[
    '127.0.0.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    'localhost',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '127.1',
    '0',
  ].flatMap((host): RawRequest[] => [
    { tries: `a tunnel to ${host}`, bytes: ({ secret }) => `CONNECT ${host}:${secret} ${REST}` },
    { tries: `a page of ${host}`, bytes: ({ secret }) => `GET http://${host}:${secret}/ ${REST}` },
  ]),
  {
    tries: 'a name before an @',
    bytes: ({ site, secret }) => `GET http://allowed.test:${site}@127.0.0.1:${secret}/ ${REST}`,
  },
  {
    tries: 'a tunnel to a name before an @',
    bytes: ({ site, secret }) => `CONNECT allowed.test:${site}@127.0.0.1:${secret} ${REST}`,
  },
  {
    tries: 'a name behind a backslash',
    bytes: ({ site, secret }) => `GET http://127.0.0.1:${secret}\\@allowed.test:${site}/ ${REST}`,
  },
  {
    tries: 'a name behind a fragment',
    bytes: ({ site, secret }) => `GET http://127.0.0.1:${secret}#@allowed.test:${site}/ ${REST}`,
  },
  {
    tries: 'a name with a NUL in the middle',
    bytes: ({ secret }) => `CONNECT 127.0.0.1%00.allowed.test:${secret} ${REST}`,
  },
  {
    tries: 'an address in the Host header of a relative URL',
    bytes: ({ secret }) => `GET / HTTP/1.1\r\nHost: 127.0.0.1:${secret}\r\n\r\n`,
  },
  { tries: 'another protocol', bytes: ({ secret }) => `GET https://127.0.0.1:${secret}/ ${REST}` },
  { tries: 'a file', bytes: () => `GET file:///etc/passwd ${REST}` },
  {
    tries: 'a second request behind a first that is allowed',
    bytes: ({ site, secret }) =>
      `GET http://allowed.test:${site}/ HTTP/1.1\r\nHost: allowed.test\r\n\r\nGET http://127.0.0.1:${secret}/ ${REST}`,
  },
  {
    tries: 'a second request within the body of a first',
    bytes: ({ site, secret }) =>
      `POST http://allowed.test:${site}/ HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://127.0.0.1:${secret}/ ${REST}`,
  },
  {
    tries: 'a header with a request in it',
    bytes: ({ site, secret }) =>
      `GET http://allowed.test:${site}/ HTTP/1.1\r\nHost: allowed.test\r\nX: a\r\n b\nGET http://127.0.0.1:${secret}/ HTTP/1.1\r\nConnection: close\r\n\r\n`,
  },
  {
    tries: 'an upgrade to a tunnel',
    bytes: ({ site, secret }) =>
      `GET http://allowed.test:${site}/ HTTP/1.1\r\nHost: 127.0.0.1:${secret}\r\nConnection: Upgrade\r\nUpgrade: TLS/1.0\r\n\r\n`,
  },
]
