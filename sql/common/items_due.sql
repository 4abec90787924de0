-- Items of which what became is to be forgotten now. Zero rows: none.
select i.scope, i.place, i.entity, i.item
from items i
where i.expires_at is not null and i.expires_at <= :now
order by i.expires_at
limit :limit
