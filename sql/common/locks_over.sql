-- Tasks that have locks of items whose time ended before now, each with its top token and how many they are. Zero rows: none.
-- What is not locked has no such time.
select k.id, t.root, w.locks
from (
    select o.task, min(o.locked_until) as over_at, count(*) as locks
    from (
        select i.task, i.locked_until from items i
        where i.locked_until < :now
        order by i.locked_until
        limit :limit
    ) o
    group by o.task
) w
join tasks k on k.id = w.task
join tokens t on t.token = k.token
order by w.over_at, k.id
