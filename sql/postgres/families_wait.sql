-- As families_lock, but waits for who holds them. Only for a batch of one command that holds nothing else.
-- A missing row: there is no such token.
select t.token
from tokens t
where t.token = any(array(
    select a.root from tokens a
    where a.token = any(:tokens::text[] || array(select k.token from tasks k where k.id = any(:tasks::bigint[])))
))
order by t.token
for no key update
