# Completion of smelt's command line in fish: a file of a folder of fish_complete_path. The candidates are asked of smelt
# itself (smelt --complete), so that they cannot be out of date.
# Checked (tests/cli/completion_test.sh): by fish itself.

function __smelt_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] --complete $words[2..-1] 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path (commandline -ct)
            case ':program *'
                set -l from (math (string replace ':program ' '' -- $line) + 2)
                complete -C (string join ' ' -- (string escape -- $words[$from..-2]) $words[-1])
            case '*'
                echo $line
        end
    end
end
complete -c smelt -f -a '(__smelt_complete)'
