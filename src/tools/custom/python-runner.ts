/**
 * The program that runs one call of a Python tool, for `python3 -I -u -c`. It reads the call from its standard input and
 * writes the result to a file; both standard outputs belong to the tool. It imports little before the tool does: most of
 * what a call costs is the start of Python. Its syntax suits old versions, so that it can say that they are too old.
 */
export const PYTHON_RUNNER = `
import json, os, sys

def main():
    call = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    result_file = os.environ.pop("HOLDFAST_RESULT")
    first_process = os.getpid()

    def finish(result):
        if os.getpid() != first_process:
            os._exit(0)
        with open(result_file + ".new", "w") as file:
            json.dump(result, file)
        os.rename(result_file + ".new", result_file)

    oldest = call["oldest"]
    if list(sys.version_info[:2]) < oldest:
        found = ".".join(str(part) for part in sys.version_info[:3])
        return finish({"error": "Tools need Python %d.%d or newer; this is Python %s." % (oldest[0], oldest[1], found)})
    os.environ.update(call["environment"])
    set_search_path(call["packages"])
    try:
        finish(run(call))
    except BaseException as error:
        sys.stdout.flush()
        print_traceback(error)
        finish({"error": describe(error)})

def set_search_path(packages):
    # What an agent left in its folder replaces no module of Python or of the environment.
    if packages:
        system = [at for at, path in enumerate(sys.path) if path.endswith("dist-packages")]
        sys.path.insert(system[0] if system else len(sys.path), packages)
    sys.path.append(os.getcwd())

def run(call):
    module = type(sys)("__main__")
    sys.modules["__main__"] = module
    names = module.__dict__
    names["__builtins__"] = __builtins__
    exec("from typing import *", names)
    if "client" in call["source"]:
        names["client"] = new_client()
    if call["function"] is None:
        return run_script(call["source"], names)
    exec(compile_source(call["source"], call["name"]), names)
    function = names.get(call["function"])
    if not callable(function):
        raise NameError("the source defines no function named %r" % call["function"])
    state = AgentState(call["agent"])
    arguments = bind(function, call, state, names)
    value = function(**arguments)
    if hasattr(value, "__await__"):
        import asyncio
        value = asyncio.run(awaited(value))
    return {"value": to_text(value), "blocks": state.memory.changes()}

async def awaited(value):
    return await value

def compile_source(source, name):
    file = "<%s>" % name
    sources[file] = source
    return compile(source, file, "exec")

# For tracebacks.
sources = {}

def run_script(source, names):
    """As a cell of a notebook: the value of a last expression is the result."""
    import ast
    tree = ast.parse(source, "<code>")
    sources["<code>"] = source
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<code>", "exec"), names)
    value = None
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "<code>", "eval"), names)
    return {"value": None if value is None else repr(value)}

def bind(function, call, state, names):
    plain = function
    while hasattr(plain, "__wrapped__"):
        plain = plain.__wrapped__
    code = getattr(plain, "__code__", None)
    count = code.co_argcount + code.co_kwonlyargcount if code else 0
    parameters = code.co_varnames[:count] if code else ()
    arguments = dict(call["arguments"])
    if call["argsSchema"]:
        arguments = as_models(arguments, call["argsSchema"])
    annotations = getattr(plain, "__annotations__", None) or {}
    if any(isinstance(value, str) for value in annotations.values()):
        annotations = resolved(plain, names, annotations)
    for name, value in list(arguments.items()):
        arguments[name] = as_annotated(annotations.get(name), value)
    if "agent_state" in parameters:
        arguments["agent_state"] = state
    if "agent_id" in parameters and "agent_id" not in arguments:
        arguments["agent_id"] = call["agent"]["id"]
    return arguments

def resolved(function, names, annotations):
    import typing
    try:
        return typing.get_type_hints(function, names)
    except Exception:
        return annotations

def as_annotated(annotation, value):
    """Dictionaries become the pydantic models that the parameter is annotated with."""
    if annotation is None or not isinstance(value, (dict, list)):
        return value
    if isinstance(value, dict) and isinstance(annotation, type):
        read = getattr(annotation, "model_validate", None) or getattr(annotation, "parse_obj", None)
        return read(value) if read else value
    inner = getattr(annotation, "__args__", None) or ()
    if isinstance(value, list) and getattr(annotation, "__origin__", None) in (list, List_origin()):
        return [as_annotated(inner[0], one) for one in value] if inner else value
    for choice in inner:
        made = as_annotated(choice, value)
        if made is not value:
            return made
    return value

def List_origin():
    return getattr(sys.modules.get("typing"), "List", list)

def as_models(arguments, schema):
    """With pydantic, objects of the schema have attributes, as on the retired server; without it they are dictionaries."""
    try:
        import pydantic
    except ImportError:
        return arguments
    fields = schema.get("properties") or {}
    return dict((name, as_schema(pydantic, fields.get(name), value, name)) for name, value in arguments.items())

def as_schema(pydantic, schema, value, name):
    if not isinstance(schema, dict):
        return value
    if isinstance(value, list):
        return [as_schema(pydantic, schema.get("items"), one, name) for one in value]
    if not isinstance(value, dict) or not isinstance(schema.get("properties"), dict):
        return value
    inner = dict((key, as_schema(pydantic, schema["properties"].get(key), one, key)) for key, one in value.items())
    import typing
    return pydantic.create_model(name, **dict((key, (typing.Any, ...)) for key in inner))(**inner)

def to_text(value):
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, (bool, int, float)):
        return str(value)
    try:
        return json.dumps(plain_data(value), default=fallback, ensure_ascii=False)
    except Exception:
        return str(value)

def plain_data(value):
    return dict((str(key), one) for key, one in value.items()) if isinstance(value, dict) else value

def fallback(value):
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump()
    return list(value) if isinstance(value, (set, frozenset)) else str(value)

def describe(error):
    return "%s: %s" % (type(error).__name__, error)

def print_traceback(error):
    import linecache, traceback
    for file, source in sources.items():
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    # Without the frames of this program.
    trace = error.__traceback__
    while trace and trace.tb_frame.f_code.co_filename == "<string>":
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace)

class Missing:
    """Stands for the client where there is none: falsy, and it says what is missing when it is used."""
    def __init__(self, reason):
        self.__dict__["reason"] = reason
    def __bool__(self):
        return False
    def __getattr__(self, name):
        raise RuntimeError(self.reason)

def new_client():
    key = os.environ.get("LETTA_API_KEY")
    if not key:
        return Missing("The tool uses client, which needs a secret LETTA_API_KEY of the agent.")
    try:
        from letta_client import Letta
    except ImportError:
        return Missing("The tool uses client, which needs the Python package letta-client: holdfast tools env add letta-client")
    address = os.environ.get("LETTA_BASE_URL")
    more = {"base_url": address} if address else {}
    try:
        return Letta(api_key=key, **more)
    except TypeError:
        return Letta(token=key, **more)

class Block:
    def __init__(self, fields):
        self.__dict__.update(fields)

class Memory:
    def __init__(self, blocks):
        self.blocks = [Block(fields) for fields in blocks]
        self._before = dict((block.label, block.value) for block in self.blocks)
    def list_block_labels(self):
        return [block.label for block in self.blocks]
    def get_block(self, label):
        for block in self.blocks:
            if block.label == label:
                return block
        raise KeyError("Block field %s does not exist (available sections = %s)" % (label, ", ".join(self.list_block_labels())))
    def get_blocks(self):
        return self.blocks
    def update_block_value(self, label, value):
        if not isinstance(value, str):
            raise ValueError("Provided value must be a string")
        self.get_block(label).value = value
    def changes(self):
        return [
            {"label": block.label, "before": self._before[block.label], "after": str(block.value)}
            for block in self.blocks
            if block.label in self._before and block.value != self._before[block.label]
        ]

class AgentState:
    def __init__(self, fields):
        self.__dict__.update(fields)
        self.memory = Memory(fields["blocks"])

main()
`
