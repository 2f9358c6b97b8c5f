#!/usr/bin/env python3
"""What the comments of the public headers become: man pages, and what Doxygen reads. They stay the only text there is.

  headers.py man FOLDER... VERSION OUTPUT DEPFILE  a page for each header of the FOLDERs, for each function one that leads there
  headers.py doxygen HEADER                        the header, on standard output, with comments as Doxygen wants them

A header is read thus: its first comment tells of all of it. Between SMELT_BEGIN and SMELT_END, a comment at the
beginning of a line is about the declarations below it, up to a blank line or the next such comment; it may be about
none. In a comment, blank lines part paragraphs; indented lines are items, "- text" or "word  text", with their further
lines indented more, or code, where one of them ends with a brace; `name` is a name. A comment that begins "--- Title."
begins a section.
"""
import os
import re
import shutil
import sys
import textwrap

COMMENT = re.compile(r'/\*(.*?)\*/\n', re.S)


def read_header(path):
    """Its text, with what it includes row by row (#define ROW, #include "...def", #undef ROW) put in."""
    def rows(include):
        macro, parameters, body, file = include.groups()
        with open(os.path.join(os.path.dirname(path), file), encoding='utf-8') as table:
            for arguments in re.findall(rf'^{macro}\((.*)\)', table.read(), re.M):
                row = dict(zip(re.split(r', *', parameters), re.split(r', *', arguments)))
                yield '  ' + re.sub(r'\w+', lambda word: row.get(word[0], word[0]), body).replace('##', '') + '\n'

    with open(path, encoding='utf-8') as file:
        header = file.read()
    if not COMMENT.match(header):
        sys.exit(f'{path} does not begin with a comment that tells of it')
    return re.sub(r'^#define (\w+)\((.*?)\) (.*)\n#include <smelt/(\w+\.def)>\n#undef \1\n',
                  lambda found: ''.join(rows(found)), header, flags=re.M)


def words(text):
    return ' '.join(text.split())


def paragraphs(comment):
    """Of the inside of a comment: (None, text) for a paragraph, (word or '-', text) for an item, ('{', code)."""
    lines = [re.sub(r'^( \* ?|   )', '', line).rstrip() for line in (' *' + comment).split('\n')]
    for block in re.findall(r'^\S.*(?:\n\S.*)*|^ +\S.*(?:\n +\S.*)*', '\n'.join(lines), re.M):
        if block[0] != ' ':
            yield None, words(block)
        elif re.search(r'\{$', block, re.M):
            yield '{', textwrap.dedent(block)
        else:
            margin = re.match(' +', block)[0]
            for item in re.findall(rf'^{margin}\S.*(?:\n{margin} .*)*', block, re.M):
                word, _, text = item.strip().partition(' ' if item.strip().startswith('- ') else '  ')
                yield word, words(text)


def parts(header):
    """(comment or None, code or '') of each part between SMELT_BEGIN and SMELT_END."""
    inside = re.search(r'^SMELT_BEGIN\n(.*)^SMELT_END\n', header, re.M | re.S)
    rest = inside[1] if inside else ''
    while rest := rest.lstrip('\n'):
        comment, code, depth = None, '', 0
        if about := COMMENT.match(rest):
            comment, rest = about[1], rest[about.end():]
        while rest and (depth > 0 or not re.match(r'\n|/\*', rest)):
            line, _, rest = rest.partition('\n')
            bare = re.sub(r'/\*.*?\*/', '', line)
            depth += bare.count('{') - bare.count('}')
            code += line + '\n'
        yield comment, code


def section(comment):
    """The title of the section that a comment begins, or None, and the rest of it."""
    title, _, rest = comment.removeprefix(' --- ').partition('. ')
    return (title, ' ' + rest) if comment.startswith(' --- ') else (None, comment)


def functions(header):
    return re.findall(r'^SMELT_API [^(;]*\b(smelt_\w+)\(', header, re.M)


def first_sentence(header):
    sentence = next(paragraphs(COMMENT.match(header)[1]))[1]
    return re.split(r'(?<![ .])\.(?= |$)', sentence)[0]


# --- man pages

def roff(text):
    text = text.replace('\\', '\\e').replace('-', '\\-')
    return re.sub(r'^([.\'])', r'\\&\1', text, flags=re.M)


def roff_text(comment):
    lines = []
    for word, text in paragraphs(comment):
        if word == '{':
            lines += ['.PP', '.nf', roff(text), '.fi']
            continue
        if word is None:
            lines.append('.PP')
        elif word == '-':
            lines.append('.IP \\(bu 2')
        else:
            lines += ['.TP', roff(word)]
        lines.append(re.sub(r'`([^`]+)`', r'\\fI\1\\fR', roff(text)))
    return lines


def one_line(found):
    """A comment on lines of its own, on one."""
    return found[1] + '/* ' + words(re.sub(r'^ *\* ', '', found[2], flags=re.M)) + ' */'


def narrow(code, width=72):
    """Code in lines of `width` characters, for a terminal of 80: a function's broken between parameters, long comments
    above the line that they are about."""
    code = re.sub(r'^SMELT_API ', '', code, flags=re.M)
    code = re.sub(r'([,(])\n {8,}', r'\1 ', code).replace('( ', '(')  # further lines of a function stand below its (
    code = re.sub(r'^( *)/\*(.*?)\*/$', one_line, code, flags=re.M | re.S)
    for line in filter(str.strip, code.splitlines()):
        indent = ' ' * (len(line) - len(line.lstrip()))
        line, opened, comment = line.strip().partition('/*')
        if len(indent + line + opened + comment) <= width:
            yield indent + line + opened + comment
            continue
        if opened:
            yield from textwrap.wrap(indent + opened + comment, width, subsequent_indent=indent + '   ',
                                     break_long_words=False, break_on_hyphens=False)
        whole = re.sub(r'(?<!,) ', '\0', line.strip())  # a parameter stays in one piece
        for part in textwrap.wrap(indent + whole, width, subsequent_indent=indent + '    ', break_long_words=False):
            yield part.replace('\0', ' ')


def page_name(file):
    return 'smelt' if file == 'smelt.h' else 'smelt_' + file.removesuffix('.h')


def man_page(file, headers, version):
    header, name, title = headers[file], page_name(file), first_sentence(headers[file]).removeprefix('Smelt: ')
    lines = [f'.\\" Made from smelt/{file}, where changes belong.',
             f'.TH {name.upper()} 3 "" "smelt {version}" "Smelt\'s library"',
             '.SH NAME', f'{name} \\- {roff(title[0].lower() + title[1:])}',
             '.SH SYNOPSIS', '.nf', f'.B #include <smelt/{file}>', '.PP',
             'cc app.c $(pkg\\-config \\-\\-cflags \\-\\-libs smelt)', '.fi',
             '.SH DESCRIPTION'] + roff_text(COMMENT.match(header)[1])
    declared = list(parts(header))
    if declared:
        lines.append('.SH DECLARATIONS')
    for comment, code in declared:
        title, comment = section(comment or '')
        if title:
            lines.append('.SS ' + roff(title))
        if code:
            lines += ['.PP', '.nf'] + ['\\fB' + roff(line) + '\\fR' for line in narrow(code)] + ['.fi']
        if comment:
            lines += ['.RS 4'] + roff_text(comment) + ['.RE'] if code else roff_text(comment)
    others = [other for other in headers if other != file]
    if file == 'smelt.h':
        lines.append('.SH HEADERS')
        for other in others:
            lines += ['.TP', f'.BR {page_name(other)} (3)', roff(first_sentence(headers[other]))]
        lines += ['.SH SEE ALSO', '.BR smelt (1)']
    else:
        lines += ['.SH SEE ALSO', '.BR smelt (3)', 'for what all functions have in common;']
        lines += [f'.BR {page_name(other)} (3)' + ',' * (other != others[-1]) for other in others if other != 'smelt.h']
    return re.sub(r'^(\.S[HS] .*\n)\.PP\n', r'\1', '\n'.join(lines) + '\n', flags=re.M)


def write_man_pages(folders, version, output, depfile):
    paths = sorted((os.path.join(folder, file) for folder in folders for file in os.listdir(folder)), key=os.path.basename)
    headers = {os.path.basename(path): read_header(path) for path in paths if path.endswith('.h')}
    shutil.rmtree(output, ignore_errors=True)  # of a header or a function that is gone no page stays
    os.makedirs(output)

    def write(name, text):
        with open(os.path.join(output, name + '.3'), 'w', encoding='utf-8') as page:
            page.write(text)

    for file in headers:
        write(page_name(file), man_page(file, headers, version))
        for function in functions(headers[file]):
            write(function, f'.so man3/{page_name(file)}.3\n')
    with open(depfile, 'w', encoding='utf-8') as rule:
        print(f'{output}:', *folders, *paths, file=rule)


# --- Doxygen

def escaped(text):
    text = re.sub(r'[\\@#%$]|<(?=[\w/!])|&(?=\w)', r'\\\g<0>', text)
    return re.sub(r'`([^`]+)`', r'<code>\1</code>', text)


def doxygen_text(comment):
    text = ''
    for word, line in paragraphs(comment):
        if word == '{':
            text += f'\n@verbatim\n{line}\n@endverbatim\n'
            continue
        line = escaped(line)
        if word is None:
            text += f'\n{line}\n'
        elif word == '-':
            text += f'- {line}\n'
        else:
            text += f'- <b>{escaped(word)}</b> {line}\n'
    return text


def doxygen_comment(found):
    """One within declarations: about what follows, or, after it on the same line, about what stands before it."""
    return found[1] + ('/**< @brief' if found[1].strip() else '/**') + escaped(found[2]) + '*/'


def for_doxygen(file, header):
    about, brief = doxygen_text(COMMENT.match(header)[1]), escaped(first_sentence(header)) + '.'
    result = f'/** @mainpage Smelt\n{about}\n<a href="files.html">The headers</a>\n*/\n' if file == 'smelt.h' else ''
    result += f'/** @file {file}\n@brief {brief}\n{about.replace(brief, "", 1)}*/\n'
    for comment, code in parts(header):
        title, comment = section(comment or '')
        code = re.sub(r'^SMELT_API ', '', code, flags=re.M)
        code = re.sub(r'^([^\n]*?)/\*(.*?)\*/$', doxygen_comment, code, flags=re.M | re.S)
        if title and not code:
            result += f'/** @file {file}\n<b>{title}.</b>{doxygen_text(comment)}*/\n'
        elif comment:
            result += f'/** {doxygen_text(comment)} */\n/** @{{ */\n{code}/** @}} */\n'
        else:
            result += code
    return result


if __name__ == '__main__':
    if sys.argv[1] == 'man':
        write_man_pages(sys.argv[2:-3], *sys.argv[-3:])
    else:
        print(for_doxygen(os.path.basename(sys.argv[2]), read_header(sys.argv[2])))
