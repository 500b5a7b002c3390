"""Samples of the secrets that the rules of detect-secrets find, a line of JSON each.

Every sample is made out of the regular expression of a rule, and found by it again.
"""

import importlib
import json
import pkgutil
import random
import re
import string
from re import _constants as op
from re import _parser as parser

import detect_secrets.plugins

SAMPLES = 20
LETTERS = string.ascii_letters + string.digits
rng = random.Random(7)


def make(parsed, groups):
    """A text that the parsed expression matches."""
    return "".join(make_one(code, value, groups) for code, value in parsed)


def make_one(code, value, groups):
    if code is op.LITERAL:
        return chr(value)
    if code is op.NOT_LITERAL:
        return rng.choice([letter for letter in LETTERS if letter != chr(value)])
    if code is op.ANY:
        return rng.choice(LETTERS)
    if code is op.IN:
        return choose(value)
    if code in (op.MAX_REPEAT, op.MIN_REPEAT):
        least, most, inner = value
        # Without an upper bound: about as long as secrets are.
        most = least + 30 if most is op.MAXREPEAT else most
        least = max(least, 20) if most - least >= 30 else least
        # White space between a name and its value is no part of either.
        if make(inner, {}).isspace():
            return " " * min(value[0], 1)
        return "".join(make(inner, groups) for _ in range(rng.randint(least, most)))
    if code is op.BRANCH:
        return make(rng.choice(value[1]), groups)
    if code is op.SUBPATTERN:
        text = make(value[3], groups)
        if value[0] is not None:
            groups.setdefault(value[0], text)
        return text
    return ""


def choose(items):
    """A character of a class; letters and digits if there are any."""
    found = [letter for letter in string.printable.strip() if in_class(letter, items)]
    plain = [letter for letter in found if letter in LETTERS]
    return rng.choice(plain or found or [" "])


def in_class(letter, items):
    kinds = {op.CATEGORY_DIGIT: r"\d", op.CATEGORY_WORD: r"\w", op.CATEGORY_SPACE: r"\s"}
    has = False
    for code, value in items:
        if code is op.LITERAL:
            has |= ord(letter) == value
        elif code is op.RANGE:
            has |= value[0] <= ord(letter) <= value[1]
        elif code is op.CATEGORY:
            has |= value in kinds and re.match(kinds[value], letter) is not None
    is_negated = any(code is op.NEGATE for code, _ in items)
    return has != is_negated


def rules():
    for module in pkgutil.iter_modules(detect_secrets.plugins.__path__):
        found = importlib.import_module(f"detect_secrets.plugins.{module.name}")
        for name, plugin in sorted(vars(found).items()):
            rules = getattr(plugin, "denylist", None)
            if isinstance(rules, (list, tuple)) and plugin.__module__ == found.__name__:
                for number, rule in enumerate(rules):
                    yield f"{name} {number}", rule


def main():
    for name, rule in rules():
        for _ in range(SAMPLES):
            groups = {}
            text = make(parser.parse(rule.pattern, rule.flags), groups).strip()
            match = rule.search(text)
            if match is None:
                continue
            # The first group, where there is one, is the secret itself.
            secrets = [group for group in match.groups() if group]
            secret = secrets[0] if secrets and len(secrets[0]) >= 8 else match.group(0).strip()
            print(json.dumps({"rule": name, "text": text, "secret": secret}))


main()
