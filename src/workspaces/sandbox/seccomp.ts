import { REFUSED_CALLS } from './refused-calls.ts'

type Architecture = 'x64' | 'arm64'

/** What differs by architecture: its name for the kernel, and the calls that are judged by their parameters. */
const ARCHITECTURES = {
  x64: { audit: 0xc000003e, clone: 56, clone3: 435, socket: 41, ioctl: 16, prlimit64: 302 },
  arm64: { audit: 0xc00000b7, clone: 220, clone3: 435, socket: 198, ioctl: 29, prlimit64: 261 },
} as const

/** Classic BPF, as <linux/filter.h> has it. */
const LOAD = 0x20
const JUMP_EQUAL = 0x15
const JUMP_AT_LEAST = 0x35
const JUMP_IF_ANY_BIT = 0x45
const RETURN = 0x06

/** struct seccomp_data: the call, the architecture, the instruction, then six parameters of eight bytes. */
const CALL = 0
const ARCHITECTURE = 4
const parameter = (index: number) => 16 + index * 8

const ALLOW = 0x7fff0000
const refuse = (errno: number) => 0x00050000 | errno
const NOT_PERMITTED = refuse(1)
const NOT_THERE = refuse(38)
const NO_SUCH_FAMILY = refuse(97)

/** The other way to call on x86-64 has numbers from here on. */
const X32 = 0x40000000
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NEW_NAMESPACES = 0x7e020000
/** Unix, IPv4, IPv6: what the network of a program is made of. Others lead to drivers nobody needs here. */
const FAMILIES = [1, 2, 10]
/** By which a program asks for its own addresses; by its other protocols filters, keys and drivers are reached. */
const NETLINK = { family: 16, routes: 0 }
/** TIOCSTI and TIOCLINUX put text into a terminal as if somebody had typed it. */
const TYPING = [0x5412, 0x541c]

type BpfInstruction = { code: number; value: number; ifTrue?: number; ifFalse?: number }

/** The filter bubblewrap installs, as the bytes it reads; undefined on an architecture without a table. */
export function seccompFilter(architecture: string): Buffer | undefined {
  if (architecture !== 'x64' && architecture !== 'arm64') return undefined
  return encode(programFor(architecture))
}

function programFor(architecture: Architecture): BpfInstruction[] {
  const { audit, clone, clone3, socket, ioctl, prlimit64 } = ARCHITECTURES[architecture]
  const refused = Object.values(REFUSED_CALLS).flatMap((call) => call[architecture] ?? [])
  return [
    load(ARCHITECTURE),
    // Calls of another architecture have other numbers: none of them is let through unjudged.
    ...unless(audit, NOT_THERE),
    load(CALL),
    ...(architecture === 'x64' ? [{ code: JUMP_AT_LEAST, value: X32, ifTrue: 0, ifFalse: 1 }, give(NOT_THERE)] : []),
    ...refused.flatMap((call) => when(call, [give(NOT_PERMITTED)])),
    // Its flags are in memory, where a filter cannot look; without it the C library uses the other.
    ...when(clone3, [give(NOT_THERE)]),
    ...when(clone, [
      load(parameter(0)),
      { code: JUMP_IF_ANY_BIT, value: NEW_NAMESPACES, ifTrue: 0, ifFalse: 1 },
      give(NOT_PERMITTED),
      give(ALLOW),
    ]),
    ...when(socket, [
      load(parameter(0)),
      ...FAMILIES.flatMap((family) => when(family, [give(ALLOW)])),
      ...when(NETLINK.family, [load(parameter(2)), ...when(NETLINK.routes, [give(ALLOW)]), give(NO_SUCH_FAMILY)]),
      give(NO_SUCH_FAMILY),
    ]),
    // Limits of another process: with few open files left, the supervisor could start nothing any more.
    ...when(prlimit64, [load(parameter(0)), ...when(0, [give(ALLOW)]), give(NOT_PERMITTED)]),
    ...when(ioctl, [
      load(parameter(1)),
      ...TYPING.flatMap((request) => when(request, [give(NOT_PERMITTED)])),
      give(ALLOW),
    ]),
    give(ALLOW),
  ]
}

const load = (offset: number): BpfInstruction => ({ code: LOAD, value: offset })
const give = (verdict: number): BpfInstruction => ({ code: RETURN, value: verdict })
const when = (value: number, steps: BpfInstruction[]): BpfInstruction[] => [
  { code: JUMP_EQUAL, value, ifTrue: 0, ifFalse: steps.length },
  ...steps,
]
const unless = (value: number, verdict: number): BpfInstruction[] => [
  { code: JUMP_EQUAL, value, ifTrue: 1, ifFalse: 0 },
  give(verdict),
]

function encode(steps: BpfInstruction[]): Buffer {
  const bytes = Buffer.alloc(steps.length * 8)
  steps.forEach(({ code, value, ifTrue = 0, ifFalse = 0 }, index) => {
    bytes.writeUInt16LE(code, index * 8)
    bytes.writeUInt8(ifTrue, index * 8 + 2)
    bytes.writeUInt8(ifFalse, index * 8 + 3)
    bytes.writeUInt32LE(value, index * 8 + 4)
  })
  return bytes
}
