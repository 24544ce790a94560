import { REFUSED_CALLS } from './refused-calls.ts'

type Architecture = 'x64' | 'arm64'

/** Per architecture: its audit id, and the numbers of calls that are filtered by their parameters. */
const ARCHITECTURES = {
  x64: { audit: 0xc000003e, clone: 56, clone3: 435, socket: 41, ioctl: 16, prlimit64: 302, fallocate: 285 },
  arm64: { audit: 0xc00000b7, clone: 220, clone3: 435, socket: 198, ioctl: 29, prlimit64: 261, fallocate: 47 },
} as const

/** Opcodes of classic BPF, from <linux/filter.h>. */
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
const NOT_SUPPORTED = refuse(95)
const NO_SUCH_FAMILY = refuse(97)

/** Call numbers of the x32 ABI on x86-64 start here. */
const X32 = 0x40000000
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NEW_NAMESPACES = 0x7e020000
/** Unix, IPv4, IPv6. Other socket families reach kernel drivers that commands do not need. */
const ALLOWED_FAMILIES = [1, 2, 10]
/** Programs read their own addresses with NETLINK_ROUTE; other netlink protocols reach filters, keys and drivers. */
const NETLINK = { family: 16, routes: 0 }
/** TIOCSTI and TIOCLINUX insert text into a terminal as if it were typed. */
const TERMINAL_INPUT_IOCTLS = [0x5412, 0x541c]

/** FALLOC_FL_PUNCH_HOLE: gives space back. */
const PUNCH_HOLE = 0x02

type BpfInstruction = { code: number; value: number; ifTrue?: number; ifFalse?: number }

/** The filter in the binary form that bubblewrap reads; undefined on an architecture without a table. */
export function seccompFilter(architecture: string): Buffer | undefined {
  if (architecture !== 'x64' && architecture !== 'arm64') return undefined
  return encode(newFilterProgram(architecture))
}

function newFilterProgram(architecture: Architecture): BpfInstruction[] {
  const { audit, clone, clone3, socket, ioctl, prlimit64, fallocate } = ARCHITECTURES[architecture]
  const refused = Object.values(REFUSED_CALLS).flatMap((call) => call[architecture] ?? [])
  return [
    load(ARCHITECTURE),
    // Calls of another architecture have other numbers: refuse them all.
    ...unlessEqual(audit, NOT_THERE),
    load(CALL),
    ...(architecture === 'x64'
      ? [{ code: JUMP_AT_LEAST, value: X32, ifTrue: 0, ifFalse: 1 }, returnWith(NOT_THERE)]
      : []),
    ...refused.flatMap((call) => ifEqual(call, [returnWith(NOT_PERMITTED)])),
    // A filter cannot read clone3's flags, which are in memory; without clone3 the C library uses clone.
    ...ifEqual(clone3, [returnWith(NOT_THERE)]),
    ...ifEqual(clone, [
      load(parameter(0)),
      { code: JUMP_IF_ANY_BIT, value: NEW_NAMESPACES, ifTrue: 0, ifFalse: 1 },
      returnWith(NOT_PERMITTED),
      returnWith(ALLOW),
    ]),
    ...ifEqual(socket, [
      load(parameter(0)),
      ...ALLOWED_FAMILIES.flatMap((family) => ifEqual(family, [returnWith(ALLOW)])),
      ...ifEqual(NETLINK.family, [
        load(parameter(2)),
        ...ifEqual(NETLINK.routes, [returnWith(ALLOW)]),
        returnWith(NO_SUCH_FAMILY),
      ]),
      returnWith(NO_SUCH_FAMILY),
    ]),
    // Refuse to change limits of another process: a lower file limit would stop the supervisor from starting commands.
    ...ifEqual(prlimit64, [load(parameter(0)), ...ifEqual(0, [returnWith(ALLOW)]), returnWith(NOT_PERMITTED)]),
    // It takes space at once, faster than the supervisor can look: the C library writes zeros instead, which takes time.
    ...ifEqual(fallocate, [
      load(parameter(1)),
      { code: JUMP_IF_ANY_BIT, value: PUNCH_HOLE, ifTrue: 0, ifFalse: 1 },
      returnWith(ALLOW),
      returnWith(NOT_SUPPORTED),
    ]),
    ...ifEqual(ioctl, [
      load(parameter(1)),
      ...TERMINAL_INPUT_IOCTLS.flatMap((request) => ifEqual(request, [returnWith(NOT_PERMITTED)])),
      returnWith(ALLOW),
    ]),
    returnWith(ALLOW),
  ]
}

const load = (offset: number): BpfInstruction => ({ code: LOAD, value: offset })
const returnWith = (verdict: number): BpfInstruction => ({ code: RETURN, value: verdict })
const ifEqual = (value: number, steps: BpfInstruction[]): BpfInstruction[] => [
  { code: JUMP_EQUAL, value, ifTrue: 0, ifFalse: steps.length },
  ...steps,
]
const unlessEqual = (value: number, verdict: number): BpfInstruction[] => [
  { code: JUMP_EQUAL, value, ifTrue: 1, ifFalse: 0 },
  returnWith(verdict),
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
