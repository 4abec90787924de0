-- Locks the top tokens of the asked tokens and tasks, in order of id, and skips what others hold.
-- A missing row: it is held elsewhere, or there is no such token.
select t.token
from tokens t
where t.token = any(array(
    select a.root from tokens a
    where a.token = any(:tokens::text[] || array(select k.token from tasks k where k.id = any(:tasks::bigint[])))
))
order by t.token
for no key update skip locked
