# Completion of smelt's command line in fish. What there is to complete is asked of smelt itself, so that it cannot be out of date.
# fish reads it from /usr/share/fish/vendor_completions.d or ~/.config/fish/completions, under the name smelt.fish.
# Checked (tests/packages/contrib_test.sh): asked for words.

# The word of the program's command line that the user's own program is, or nothing: smelt run -- ./app has it at 4.
function __smelt_program_at
    set -l words (commandline -opc)
    contains -- "$words[2]" run try; or return 1
    set -l at 3
    while test $at -le (count $words)
        switch $words[$at]
            case --library --pairs --seconds
                set at (math $at + 2)
            case --
                echo (math $at + 1)
                return
            case '-*'
                set at (math $at + 1)
            case '*'
                echo $at
                return
        end
    end
    # The word that is being typed is the program, unless it is an option.
    string match -q -- '-*' (commandline -ct); and return 1
    echo $at
end

# The commands before the word that is being typed.
function __smelt_verbs
    set -l words (commandline -opc)
    set -l verbs (string match -rg '^([a-z][a-z-]*)$' -- $words[2..3])
    string match -q profile -- $verbs[1]; and printf '%s\n' $verbs; or printf '%s\n' $verbs[1]
end

function __smelt_commands
    set -l inside 0
    $argv[1] $argv[2..] --help 2>/dev/null | while read -l line
        if string match -qri '^subcommands:' -- $line
            set inside 1
        else if test -z "$line"
            set inside 0
        else if test $inside = 1
            string replace -rf '^ *([a-z][a-z-]*) +(.*)' '$1\t$2' -- $line
        end
    end
end

function __smelt_words
    set -l smelt (commandline -opc)[1]
    if set -l at (__smelt_program_at)
        set -l words (commandline -opc) (commandline -ct)
        complete -C (string join -- ' ' (string escape -- $words[$at..-2]) $words[-1])
        return
    end
    set -l verbs (string match -v '' -- (__smelt_verbs))
    switch (commandline -opc)[-1]
        case --pattern
            $smelt tree --list 2>/dev/null | string match -rg '^ +([a-z][a-z-]*)'
            return
        case --op
            printf '%s\n' broadcast reduce barrier
            return
        case --cost-model
            printf '%s\n' overlap paper
            return
        case --format
            printf '%s\n' text dot json
            return
        case -o --output --library --network --plot --folder
            __fish_complete_path (commandline -ct)
            return
    end
    if string match -q -- '-*' (commandline -ct)
        $smelt $verbs --help 2>/dev/null | string replace -rf '^ +(?:-[a-zA-Z], *)?(--[a-z][a-z-]*).*' '$1'
    else if test (count (commandline -opc)) = 2; and test "$verbs" = draw
        printf '%s\n' matrix tree schedule timeline
    else
        set -l commands (__smelt_commands $smelt $verbs)
        test (count $commands) -gt 0; and test (count $verbs) -lt 2
        and printf '%s\n' $commands
        or __fish_complete_path (commandline -ct)
    end
end

complete -c smelt -f -a '(__smelt_words)'
