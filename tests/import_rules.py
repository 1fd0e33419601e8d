"""The rules of STYLE about which file of unmasq may import what, read from the syntax trees.

`violations(root)` works on any folder laid out like src/unmasq, so the rules are themselves tested
on small made-up ones. Nothing is imported: the files are only parsed.
"""

import ast
import dataclasses
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "unmasq"

# Data flows down this list; imports only point up it.
ORDER = [
    "suggest",
    "error_rate",
    "files",
    "codes",
    "circuits",
    "problems",
    "shots",
    "diffusion",
    "models",
    "decoding",
    "baselines",
    "evaluation",
    "training",
    "recipes",
    "report",
    "api",
    "cli",
]

# Rank alone would let these import training.
NEVER_TRAINING = {"report"}

# Training runs on machines without them.
STIM_FREE = {"shots", "models", "training"}
STIM_PACKAGES = {"stim", "sinter", "ldpc"}

# A listing of models, or a problem file, must not take hold of an accelerator.
JAX_FREE = {"suggest", "files", "codes", "circuits", "problems"}
JAX_PACKAGES = {"jax", "jaxlib", "equinox", "optax"}

MAX_LINES = 400
NAMELESS = {"utils", "common", "helpers"}


@dataclasses.dataclass(frozen=True)
class Import:
    """One imported module, by its full name, and where it is imported."""

    module: str
    line: int
    at_load: bool  # runs when the file is imported: not inside a function or TYPE_CHECKING


@dataclasses.dataclass(frozen=True)
class Module:
    name: str  # "unmasq.codes.css"
    path: Path
    imports: tuple[Import, ...]

    @property
    def stage(self) -> str:
        """'codes' for unmasq.codes.css; '' for unmasq itself."""
        return _stage(self.name)


def violations(root: Path) -> list[str]:
    """One line for each broken rule under `root`, the folder of the package; [] if none."""
    modules = _read(root)
    found = []
    for module in modules.values():
        where = module.path.relative_to(root)
        found += [f"{where}: {problem}" for problem in _file_problems(module)]
        for imported in module.imports:
            for problem in _import_problems(module.stage, imported.module):
                found.append(f"{where}:{imported.line}: {problem}")
        if module.stage in STIM_FREE:
            found += [f"{where}: {problem}" for problem in _load_problems(module, modules)]
    return list(dict.fromkeys(found))  # `from a import b, c` is one broken rule


def _file_problems(module: Module) -> Iterator[str]:
    lines = len(module.path.read_text(encoding="utf-8").splitlines())
    if lines > MAX_LINES:
        yield f"{lines} lines, more than {MAX_LINES}: split the file"
    if NAMELESS & set(module.name.split(".")):
        yield "a name that says nothing: name the thing the file holds"
    if module.stage not in {"", "weights", "__main__", *ORDER}:
        yield f"'{module.stage}' has no place in ORDER: give it one"


def _import_problems(stage: str, imported: str) -> Iterator[str]:
    if stage in STIM_FREE and imported.split(".")[0] in STIM_PACKAGES:
        yield f"'{stage}' must run without {imported}"
    if stage in JAX_FREE and imported.split(".")[0] in JAX_PACKAGES:
        yield f"'{stage}' must run without {imported}"
    target = _stage(imported)
    # The root's lazy names reach every stage; a stage names the module it wants.
    if imported == PACKAGE and stage not in {"", "cli"}:
        yield f"'{stage}' must import the module itself, not through {PACKAGE}"
    if stage in NEVER_TRAINING and target == "training":
        yield f"'{stage}' must never import training"
    if stage in ORDER and target in ORDER and ORDER.index(target) > ORDER.index(stage):
        yield f"'{stage}' must not import '{target}', which comes after it"


def _load_problems(module: Module, modules: dict[str, Module]) -> Iterator[str]:
    """Follows what `module` loads of the package, down to a file that loads Stim."""
    seen, waiting = {module.name}, [module]
    while waiting:
        current = waiting.pop()
        for imported in current.imports:
            if not imported.at_load:
                continue
            if current is not module and imported.module.split(".")[0] in STIM_PACKAGES:
                yield f"loads {current.name}, which loads {imported.module}"
            for name in _with_parents(imported.module):
                if name in modules and name not in seen:
                    seen.add(name)
                    waiting.append(modules[name])


def _with_parents(name: str) -> Iterator[str]:
    """unmasq.codes.css, unmasq.codes, unmasq: loading the first loads them all."""
    while name:
        yield name
        name = name.rpartition(".")[0]


def _stage(name: str) -> str:
    parts = name.split(".")
    return parts[1] if parts[0] == PACKAGE and len(parts) > 1 else ""


def _read(root: Path) -> dict[str, Module]:
    paths = sorted(root.rglob("*.py"))
    names = {path: _module_name(root, path) for path in paths}
    modules = {}
    for path, name in names.items():
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        is_package = path.name == "__init__.py"
        imports = tuple(_imports(tree.body, name, is_package, set(names.values()), at_load=True))
        modules[name] = Module(name, path, imports)
    return modules


def _module_name(root: Path, path: Path) -> str:
    parts = [PACKAGE, *path.relative_to(root).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(
    nodes: list[ast.stmt], name: str, is_package: bool, known: set[str], *, at_load: bool
) -> Iterator[Import]:
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, at_load)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, name, is_package)
            for alias in node.names:
                # `from unmasq.codes import gf2` and `from unmasq.codes import css` import modules.
                inner = f"{base}.{alias.name}"
                yield Import(inner if inner in known else base, node.lineno, at_load)
        else:
            in_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for block, runs in _blocks(node):
                runs_at_load = at_load and runs and not in_function
                yield from _imports(block, name, is_package, known, at_load=runs_at_load)


def _blocks(node: ast.AST) -> Iterator[tuple[list[ast.stmt], bool]]:
    """The statement lists inside a statement, each with whether it runs outside type checking."""
    for field, value in ast.iter_fields(node):
        if not isinstance(value, list):
            continue
        if value and isinstance(value[0], ast.stmt):
            hidden = field == "body" and isinstance(node, ast.If) and _is_type_checking(node.test)
            yield value, not hidden
        else:  # except handlers, match cases
            for part in value:
                if isinstance(part, ast.ExceptHandler | ast.match_case):
                    yield part.body, True


def _is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def _absolute(node: ast.ImportFrom, name: str, is_package: bool) -> str:
    if node.level == 0:
        return node.module or ""
    parts = name.split(".")
    kept = parts[: len(parts) - node.level + is_package]
    return ".".join([*kept, *([node.module] if node.module else [])])
