# Many short programs, as a build or a shell script starts them.
folder=$1
scratch=$(mktemp -d)
printf 'one\ntwo\n' >"$scratch/a"
printf 'one\nthree\n' >"$scratch/b"
for _ in 1 2 3 4 5 6 7 8 9 10; do
    find "$folder" -name '*.lua' >"$scratch/found"
    grep -r count "$folder" >"$scratch/lines"
    diff "$scratch/a" "$scratch/b" >"$scratch/patch"
    cp "$scratch/a" "$scratch/c"
    patch -s "$scratch/c" "$scratch/patch"
    locate -V >/dev/null 2>&1
    ls -l "$folder" >"$scratch/list"
    sort "$scratch/lines" >"$scratch/sorted"
done
rm -r "$scratch"
