-- Which token has each id, in whatever case of letters. `taken` is null: nobody has it. One row per id.
select n.id, f.token as taken
from unnest(:ids::text[]) as n(id)
left join lateral (
    select t.token from tokens t where lower(t.token) = lower(n.id collate "C") limit 1
) f on true
