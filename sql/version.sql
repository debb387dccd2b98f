-- Records the revision, in the table that Alembic keeps for this schema, so that "shardflake db upgrade" can go on from here.

create table if not exists shardflake._revision (
  version_num varchar(32) not null,
  constraint _revision_pkc primary key (version_num)
);

insert into shardflake._revision (version_num) values ('0004');
