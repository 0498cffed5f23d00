"""Operations on instances after their build, each a flow of stages."""
