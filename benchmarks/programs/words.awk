# Counts words and cuts strings: fields, tables and short strings.
{
    for (i = 1; i <= NF; i++) {
        count[$i]++
        letters += length(substr($i, 2))
    }
}
END {
    for (word in count) {
        total += count[word]
    }
    print total, letters
}
