"""What a test of libgomp's suite asks for, read from the DejaGnu directives in its comments.

    /* { dg-do run { target { ! lp64 } } } */      ->  plan(text, ...).action, .skip, .options, .environment, ...

A directive is a Tcl command, so its words are split by Tcl's rules; a target selector is a small expression over effective
targets (targets.py) and target triplets. What is not known here raises Unknown, and the test is skipped with that
as its reason: nothing is guessed.
"""
import dataclasses
import re


class Unknown(Exception):
    """A directive, a selector or a target that this runner does not know."""


# As DejaGnu finds them (dg.exp, dg-get-options): one per line, the closing brace after a space. It needs two spaces after a
# directive without arguments; one is enough here.
_DIRECTIVE = re.compile(r'\{[ \t]+(dg-[-a-z]+)(?:[ \t]+(.*))?[ \t]+\}[^}]*$')

_ESCAPES = {'n': '\n', 't': '\t', 'r': '\r', 'a': '\a', 'b': '\b', 'f': '\f', 'v': '\v'}

# These look at the compiler's messages and dumps. The programs are what is compared here.
_ABOUT_COMPILING = {'dg-final', 'dg-warning', 'dg-bogus', 'dg-message', 'dg-note', 'dg-prune-output', 'dg-excess-errors'}


@dataclasses.dataclass
class Directive:
    line: int
    name: str
    arguments: str


@dataclasses.dataclass
class Plan:
    """How to build, run and judge one test; or why it is skipped."""
    action: str = 'run'
    skip: str = ''
    options: list = dataclasses.field(default_factory=list)
    sources: list = dataclasses.field(default_factory=list)  # beside the test itself, relative to its folder
    environment: dict = dataclasses.field(default_factory=dict)
    shouldfail: bool = False
    output: str = ''  # a regular expression for what it prints; '' for anything
    timeout: float | None = None
    timeout_factor: float = 1.0


def find(text):
    """All directives of a source file, in order."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _DIRECTIVE.search(line)
        if match:
            found.append(Directive(number, match.group(1), (match.group(2) or '').strip()))
    return found


def _escape(text, at):
    """Tcl's backslash substitution at text[at] == '\\': the character meant, and where to go on."""
    if at + 1 >= len(text):
        return '\\', at + 1
    char = text[at + 1]
    if char in 'xu01234567':
        raise Unknown(f'numeric escape in {text!r}')
    return _ESCAPES.get(char, char), at + 2


def words(text):
    """The words of a Tcl command: {braced} ones literally, "quoted" and bare ones with backslash substitution."""
    result, at = [], 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at >= len(text):
            return result
        if text[at] == '{':
            depth, start = 0, at + 1
            while at < len(text):
                if text[at] == '\\':
                    at += 1
                elif text[at] == '{':
                    depth += 1
                elif text[at] == '}':
                    depth -= 1
                    if depth == 0:
                        break
                at += 1
            if at >= len(text):
                raise Unknown(f'unbalanced braces in {text!r}')
            result.append(text[start:at])
            at += 1
        else:
            quoted = text[at] == '"'
            at += quoted
            word = ''
            while at < len(text) and not (text[at] == '"' if quoted else text[at].isspace()):
                if text[at] == '\\':
                    char, at = _escape(text, at)
                    word += char
                elif text[at] == '[' or (text[at] == '$' and re.match(r'\$[\w{]', text[at:])):
                    raise Unknown(f'Tcl substitution in {text!r}')
                else:
                    word += text[at]
                    at += 1
            if quoted and at >= len(text):
                raise Unknown(f'unbalanced quotes in {text!r}')
            at += quoted
            result.append(word)
        if at < len(text) and not text[at].isspace():
            raise Unknown(f'text right after a closing brace or quote in {text!r}')


def _operand(text, targets):
    parts = words(text)
    if len(parts) == 1:
        return targets.holds(parts[0])
    return _expression(parts, targets)


def _expression(parts, targets):
    """GCC's selector_expression: `! x`, `x && y`, `x || y`, or a list of targets any of which will do."""
    if parts and parts[0] in ('any-opts', 'no-opts'):
        raise Unknown(f'selector {parts[0]}')
    if len(parts) == 2 and parts[0] == '!':
        return not _operand(parts[1], targets)
    if len(parts) == 3 and parts[1] == '&&':
        return _operand(parts[0], targets) and _operand(parts[2], targets)
    if len(parts) == 3 and parts[1] == '||':
        return _operand(parts[0], targets) or _operand(parts[2], targets)
    if not parts or any(part in ('!', '&&', '||') for part in parts):
        raise Unknown(f'selector {" ".join(parts)!r}')
    return any([targets.holds(part) for part in parts])  # a list, so that every word is looked at


def condition(text, targets):
    """A selector without its keyword: `lp64`, `{ ! lp64 }`, `*-*-linux* *-*-gnu*`."""
    parts = words(text)
    if len(parts) == 1 and text.strip().startswith('{'):
        return _expression(words(parts[0]), targets)
    return _expression(parts, targets)


def selected(text, targets):
    """`target CONDITION`. An `xfail` is a statement about failing, which no test that is run here makes so far: Unknown."""
    keyword, _, rest = text.strip().partition(' ')
    if keyword != 'target' or re.search(r'\bxfail\b', rest):
        raise Unknown(f'selector {text.strip()!r}')
    return condition(rest, targets)


def _holds_here(arguments, at, targets):
    """Is the optional selector, argument number `at`, absent or true?"""
    if len(arguments) > at + 1:
        raise Unknown('too many arguments')
    return len(arguments) <= at or selected(arguments[at], targets)


def _has_flags(patterns, flags):
    """Does one of the option sets match the flags? "*" matches any, "" none (GCC's check-flags)."""
    for pattern in words(patterns):
        wanted = pattern.split()
        if wanted == ['*'] or (wanted and all(flag in flags for flag in wanted)):
            return True
    return False


def _decide_action(directives, targets):
    """dg-do, which may be given several times: the last action counts, and any selector that holds selects the test."""
    action, state = 'run', ''
    for directive in directives:
        if directive.name != 'dg-do':
            continue
        arguments = words(directive.arguments)
        if not arguments or arguments[0] not in ('preprocess', 'compile', 'assemble', 'link', 'run'):
            raise Unknown(f'dg-do {directive.arguments}')
        if _holds_here(arguments, 1, targets):
            state = 'selected'
        elif state != 'selected':
            state = 'deselected'
        action = arguments[0]
    return action, state != 'deselected'


def plan(text, targets, default_options=(), fixed_options=()):
    """The plan of one test. `default_options` are replaced by dg-options, `fixed_options` are not (a Fortran torture level)."""
    result = Plan()
    directives = find(text)
    try:
        result.action, wanted = _decide_action(directives, targets)
        if result.action != 'run':
            result.skip = f'dg-do {result.action}: nothing is run'
        elif not wanted:
            result.skip = 'dg-do run is for other targets'
    except Unknown as error:
        result.skip = f'unknown: {error}'
    if result.skip:
        return result

    options, additional = list(default_options), []
    for directive in directives:
        if directive.name in _ABOUT_COMPILING or directive.name == 'dg-do':
            continue
        try:
            arguments = words(directive.arguments)
            current = list(fixed_options) + options + additional
            skip = ''
            if directive.name == 'dg-options':
                if _holds_here(arguments, 1, targets):
                    options = arguments[0].split()
            elif directive.name == 'dg-additional-options':
                if _holds_here(arguments, 1, targets):
                    additional += arguments[0].split()
            elif directive.name == 'dg-add-options':
                for feature in arguments:
                    additional += targets.options_for(feature)
            else:
                skip = _apply(result, directive.name, arguments, targets, current)
        except Unknown as error:
            skip = f'unknown: {directive.name}: {error}'
        except (IndexError, ValueError):
            skip = f'unknown: {directive.name} {directive.arguments}'
        if skip:
            result.skip = skip
            return result
    result.options = list(fixed_options) + options + additional
    try:
        re.compile(result.output, re.DOTALL)
    except re.error as error:
        result.skip = f'unknown: dg-output is no regular expression of Python: {error}'
    return result


def _apply(result, name, arguments, targets, current_options):
    """Enters one directive into the plan. Returns a reason for skipping the test, or ''.

    dg-skip-if and dg-xfail-if have their condition in braces of their own, without a keyword: { ! lp64 }, { *-*-* }.
    """
    if name == 'dg-additional-sources':
        if _holds_here(arguments, 1, targets):
            result.sources += arguments[0].split()
    elif name == 'dg-require-effective-target':
        if _holds_here(arguments, 1, targets) and not targets.holds(arguments[0]):
            return f'needs {arguments[0]}'
    elif name == 'dg-require-alias':
        if not targets.holds('alias'):
            return 'needs alias'
    elif name == 'dg-skip-if':
        if not 2 <= len(arguments) <= 4:
            raise Unknown('number of arguments')
        include, exclude = (arguments[2:] + ['*', ''])[0], (arguments[3:] + [''])[0]
        if (_expression(words(arguments[1]), targets) and _has_flags(include, current_options)
                and not _has_flags(exclude, current_options)):
            return f'dg-skip-if: {arguments[0] or "not a test of its own here"}'
    elif name in ('dg-xfail-if', 'dg-xfail-run-if'):
        if _expression(words(arguments[1]), targets):
            return f'{name}: expected to fail here: {arguments[0]}'
    elif name == 'dg-error':
        if len(arguments) < 3 or not arguments[2] or selected(arguments[2], targets):
            return 'a compile error is expected'
    elif name == 'dg-set-target-env-var':
        if len(arguments) != 2:
            raise Unknown('number of arguments')
        result.environment[arguments[0]] = arguments[1]
    elif name == 'dg-shouldfail':
        if len(arguments) > 1:
            raise Unknown('a selector')
        result.shouldfail = True
    elif name == 'dg-output':
        if _holds_here(arguments, 1, targets):
            result.output += arguments[0]  # several are one expression
    elif name == 'dg-timeout':
        if _holds_here(arguments, 1, targets):
            result.timeout = float(arguments[0])
    elif name == 'dg-timeout-factor':
        if _holds_here(arguments, 1, targets):
            result.timeout_factor = float(arguments[0])
    else:
        raise Unknown('the directive')
    return ''
