import type { WorkBudget } from '../work-budget.ts'
import { PatternFault, type PatternNode, parsePattern } from './pattern-syntax.ts'

/**
 * A regular expression that never backtracks: all its states advance together, so the work is at most its size times
 * the length of the text (Thompson 1968). A look ahead or behind is a table of positions, made by one more pass.
 */
export type LinearPattern = {
  /** The number of its instructions. */
  size: number
  test(text: string, budget: WorkBudget): boolean
}

/** Counted repetitions are written out. */
const MAX_INSTRUCTIONS = 20_000
const TOO_LARGE = 'its counted repetitions are too large'

/** Throws `PatternFault`. */
export function compilePattern(pattern: string): LinearPattern {
  const looks: Look[] = []
  const program = compile(parsePattern(pattern), { isBackward: false, looks })
  return {
    size: looks.reduce((size, look) => size + look.program.length, program.length),
    test(text, budget) {
      budget.spend(text.length)
      const subject: Subject = { signs: [...text], tables: [], budget }
      // A look inside another one comes before it in the list.
      for (const look of looks) subject.tables.push(positionsOf(look, subject))
      return isFoundIn(program, subject)
    },
  }
}

type Instruction =
  | { type: 'character'; matches(character: string): boolean }
  | { type: 'split'; first: number; second: number }
  | { type: 'edge'; edge: Edge }
  | { type: 'look'; table: number; isNegated: boolean }
  | { type: 'match' }

type Edge = Extract<PatternNode, { type: 'edge' }>['edge']
type Program = Instruction[]
type Look = { program: Program; direction: 'ahead' | 'behind' }
type Subject = { signs: string[]; tables: Uint8Array[]; budget: WorkBudget }

type CompileOptions = { isBackward: boolean; looks: Look[] }

function compile(root: PatternNode, { isBackward, looks }: CompileOptions): Program {
  const program: Program = []
  const emit = <T extends Instruction>(instruction: T): T => {
    if (program.push(instruction) > MAX_INSTRUCTIONS) throw new PatternFault(TOO_LARGE)
    return instruction
  }
  const emitSplit = () => emit({ type: 'split', first: program.length + 1, second: program.length + 1 })
  // Apart from the instructions, because an empty group repeats without any.
  let visits = 0
  const emitNode = (node: PatternNode): void => {
    if (++visits > MAX_INSTRUCTIONS) throw new PatternFault(TOO_LARGE)
    switch (node.type) {
      case 'character':
      case 'edge':
        emit(node)
        return
      case 'sequence':
        for (const one of isBackward ? node.nodes.toReversed() : node.nodes) emitNode(one)
        return
      case 'choice':
        emitChoice(node.nodes)
        return
      case 'repeat':
        emitRepeat(node)
        return
      case 'look': {
        const { direction, isNegated } = node
        // The look ahead is read from its end, so that one pass finds each position where it begins.
        const own = compile(node.node, { isBackward: direction === 'ahead', looks })
        looks.push({ program: own, direction })
        emit({ type: 'look', table: looks.length - 1, isNegated })
      }
    }
  }
  const emitChoice = (nodes: PatternNode[]): void => {
    const exits = nodes.map((node, index) => {
      const branch = index < nodes.length - 1 ? emitSplit() : undefined
      emitNode(node)
      const exit = branch && emitSplit()
      if (branch) branch.second = program.length
      return exit
    })
    for (const exit of exits) if (exit) exit.first = exit.second = program.length
  }
  const emitRepeat = ({ node, least, most }: Extract<PatternNode, { type: 'repeat' }>): void => {
    for (let count = 0; count < least; count++) emitNode(node)
    if (most === Number.POSITIVE_INFINITY) {
      const start = program.length
      const enter = emitSplit()
      emitNode(node)
      const again = emitSplit()
      again.first = again.second = start
      enter.second = program.length
      return
    }
    const enters = []
    for (let count = least; count < most; count++) {
      enters.push(emitSplit())
      emitNode(node)
    }
    for (const enter of enters) enter.second = program.length
  }
  emitNode(root)
  emit({ type: 'match' })
  return program
}

function isFoundIn(program: Program, subject: Subject): boolean {
  const states = newStates(program, subject)
  for (let at = 0; at <= subject.signs.length; at++) {
    states.enter(0, at)
    if (states.takeMatch()) return true
    // A pattern that begins with ^ has no states left after its first fault.
    if (states.isIdle() && at > 0 && startsAtEdge(program)) return false
    states.advance(subject.signs[at], at + 1)
  }
  return false
}

const startsAtEdge = ([first]: Program): boolean => first?.type === 'edge' && first.edge === 'start'

/** At each position: whether the look succeeds there. */
function positionsOf({ program, direction }: Look, subject: Subject): Uint8Array {
  const { signs } = subject
  const table = new Uint8Array(signs.length + 1)
  const states = newStates(program, subject)
  const step = direction === 'behind' ? 1 : -1
  const start = direction === 'behind' ? 0 : signs.length
  for (let at = start; at >= 0 && at <= signs.length; at += step) {
    states.enter(0, at)
    if (states.takeMatch()) table[at] = 1
    states.advance(signs[direction === 'behind' ? at : at - 1], at + step)
  }
  return table
}

/** The states that a program is in at one position of the text. */
function newStates(program: Program, { signs, tables, budget }: Subject) {
  let current: number[] = []
  let hasMatch = false
  // The position at which a state was entered last: no state is entered twice at a position.
  const entered = new Int32Array(program.length).fill(-1)
  const enter = (start: number, at: number): void => {
    const open = [start]
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      if (entered[state] === at) continue
      entered[state] = at
      budget.spend(1)
      const instruction = program[state]!
      switch (instruction.type) {
        case 'split':
          open.push(instruction.second, instruction.first)
          break
        case 'edge':
          if (isAtEdge(instruction.edge, signs, at)) open.push(state + 1)
          break
        case 'look':
          if ((tables[instruction.table]![at] === 1) !== instruction.isNegated) open.push(state + 1)
          break
        case 'match':
          hasMatch = true
          break
        case 'character':
          current.push(state)
      }
    }
  }
  return {
    enter,
    takeMatch() {
      const found = hasMatch
      hasMatch = false
      return found
    },
    isIdle: () => current.length === 0,
    advance(sign: string | undefined, to: number) {
      const before = current
      current = []
      if (sign === undefined) return
      budget.spend(before.length)
      for (const state of before) {
        const instruction = program[state]!
        if (instruction.type === 'character' && instruction.matches(sign)) enter(state + 1, to)
      }
    },
  }
}

const isWord = (sign: string | undefined): boolean => sign !== undefined && /^\w$/.test(sign)

function isAtEdge(edge: Edge, signs: readonly string[], at: number): boolean {
  switch (edge) {
    case 'start':
      return at === 0
    case 'end':
      return at === signs.length
    case 'word':
      return isWord(signs[at - 1]) !== isWord(signs[at])
    case 'no-word':
      return isWord(signs[at - 1]) === isWord(signs[at])
  }
}
