-- Binary trees: builds and drops many, keeps one for the whole run.
local function build(depth)
    if depth == 0 then
        return {}
    end
    return { build(depth - 1), build(depth - 1) }
end

local function count(tree)
    if tree[1] then
        return 1 + count(tree[1]) + count(tree[2])
    end
    return 1
end

local deepest = tonumber(arg[1]) or 15
local kept = build(deepest)
for depth = 4, deepest, 2 do
    local total = 0
    for _ = 1, 1 << (deepest - depth + 4) do
        total = total + count(build(depth))
    end
    print(depth, total)
end
print(count(kept))
