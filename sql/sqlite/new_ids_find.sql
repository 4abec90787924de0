-- Which token has each id, in whatever case of letters; the ids come as a JSON list. `taken` is null:
-- nobody has it. One row per id.
select n.value as id, (select t.token from tokens t where lower(t.token) = lower(n.value)) as taken
from json_each(:ids) as n
