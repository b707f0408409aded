# Many short programs, as a build or a shell script starts them; $EACH stands before
# each of them.
folder=$1
scratch=$(mktemp -d)
printf 'one\ntwo\n' >"$scratch/a"
printf 'one\nthree\n' >"$scratch/b"
for _ in 1 2 3 4 5 6 7 8 9 10; do
    $EACH find "$folder" -name '*.lua' >"$scratch/found"
    $EACH grep -r count "$folder" >"$scratch/lines"
    $EACH diff "$scratch/a" "$scratch/b" >"$scratch/patch"
    cp "$scratch/a" "$scratch/c"
    $EACH patch -s "$scratch/c" "$scratch/patch"
    $EACH locate -V >/dev/null 2>&1
    $EACH ls -l "$folder" >"$scratch/list"
    $EACH sort "$scratch/lines" >"$scratch/sorted"
done
rm -r "$scratch"
