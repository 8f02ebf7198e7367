# fish completion for @name@ @version@

# Do the typed words name this command, and no command below it?
function __@name@_at
    set -l path @name@
    for word in (commandline -opc)[2..-1]
        set -l names
        switch "$path"
@groups@        end
        contains -- $word $names; or break
        set path "$path $word"
    end
    # It explains any of them.
    if test "$path" = '@name@ help'; and not string match -q -- '-*' (commandline -ct)
        set path @name@
    end
    test "$path" = "$argv[1]"
end

# Words that may stand in a list with commas between.
function __@name@_list
    set -l token (commandline -ct | string replace -r '^--[^=]*=' '')
    set -l before (string match -r '^.*,' -- $token)
    for word in $argv
        echo "$before$word"
    end
end

# What a value is called in the help, in capitals: the program knows the words.
function __@name@_words
    set -l program (commandline -opc)[1]
    test -n '@complete@'; and __@name@_list (timeout 1 $program complete $argv[1] 2> /dev/null)
end

complete -c @name@ -f
@lines@
