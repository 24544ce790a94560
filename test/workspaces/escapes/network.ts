import { defined } from '../../../src/core/defined.ts'
import { GOT, type Probe, quoted } from './probe.ts'

type Row = Omit<Probe, 'area'>
const CANARY = /canary-\d/

/** Socket families by number, with type and protocol. */
const FAMILIES = {
  raw: [2, 3, 1],
  'raw of version six': [10, 3, 58],
  packet: [17, 3, 0],
  key: [15, 3, 2],
  bluetooth: [31, 3, 1],
  'netlink for filters': [16, 3, 12],
  'netlink for drivers': [16, 3, 16],
  'netlink for audits': [16, 3, 9],
  can: [29, 3, 1],
  tipc: [30, 1, 0],
  alg: [38, 5, 0],
  vsock: [40, 1, 0],
  xdp: [44, 3, 0],
  smc: [43, 1, 0],
}

const ROWS: Row[] = [
  {
    tries: 'to find an interface besides the loopback',
    success: /\w/,
    command: () => 'tail -n +3 /proc/net/dev | cut -d: -f1 | grep -vw lo; ls /sys/class/net | grep -vw lo',
  },
  {
    tries: 'to find a route',
    success: /\w/,
    command: () => 'tail -n +2 /proc/net/route; grep -vw lo /proc/net/ipv6_route',
  },
  {
    tries: 'to reach a server on the loopback of the machine',
    success: CANARY,
    open: 'any-user',
    command: ({ listeners }) => `head -n 1 < /dev/tcp/127.0.0.1/${listeners.port}`,
  },
  {
    tries: 'to reach a server of the machine at an abstract Unix socket',
    success: CANARY,
    open: 'any-user',
    command: ({ listeners, node }) => listening(node, `\\0${listeners.abstract}`),
  },
  {
    tries: 'to reach a server of the machine at a Unix socket file',
    success: CANARY,
    open: 'any-user',
    command: ({ listeners, node }) => listening(node, listeners.path),
  },
  {
    // A UDP connect sends nothing: it only shows whether there is a route.
    tries: 'to find a route to the metadata service of a cloud',
    success: GOT,
    command: () => '(: < /dev/udp/169.254.169.254/80) && echo GOT',
  },
  {
    tries: 'to find a route into any network',
    success: GOT,
    command: () => 'for host in 192.0.2.1 10.0.0.1 172.17.0.1 ff02::1; do (: < /dev/udp/$host/80) && echo GOT; done',
  },
  {
    tries: 'to find a DNS server',
    success: /\w/,
    command: () => 'cat /etc/resolv.conf; grep -wE "dns|resolve" /etc/nsswitch.conf',
  },
  {
    tries: 'to find an egress proxy where none is enabled',
    success: GOT,
    command: () => '(: < /dev/tcp/127.0.0.1/3128) && echo GOT; ls /holdfast/egress/* && echo GOT',
  },
  ...Object.entries(FAMILIES).map(
    ([name, numbers]): Row => ({
      tries: `to open a socket of the kind: ${name}`,
      success: GOT,
      command: () => `perl -e 'socket(my $socket, ${numbers.join(', ')}) and print "GOT\\n"'`,
      ...defined({ open: ['raw', 'packet', 'netlink for drivers'].includes(name) ? ('root' as const) : undefined }),
    }),
  ),
  {
    tries: 'to add an interface',
    success: GOT,
    command: () =>
      'ip link add made type dummy && echo GOT; ip link set lo down && echo GOT; ip tuntap add tun0 mode tun && echo GOT',
  },
]

const listening = (node: string, path: string): string =>
  `${node} -e ${quoted(`require("net").connect("${path}").on("data", (text) => { console.log(String(text)); process.exit() }).on("error", () => {})`)}`

export const NETWORK_PROBES: Probe[] = ROWS.map((row) => ({ area: 'network', ...row }))
