# bench/torch.cpp: the estimator's networks in libtorch, beside ours in `corgi bench
# estimate`.  Only where it is installed (libtorch-dev); nothing else here is C++.
option(CORGI_TORCH "Compare with libtorch in 'corgi bench estimate' where it is installed"
       ON)
if(NOT CORGI_TORCH OR CORGI_SANITIZE)
    return()
endif()
include(CheckLanguage)
find_path(TORCH_INCLUDE torch/csrc/api/include/torch/torch.h)
find_library(TORCH_LIBRARY torch)
find_library(TORCH_CPU_LIBRARY torch_cpu)
find_library(C10_LIBRARY c10)
check_language(CXX)
if(TORCH_INCLUDE AND TORCH_LIBRARY AND TORCH_CPU_LIBRARY AND C10_LIBRARY
   AND CMAKE_CXX_COMPILER)
    enable_language(CXX)
    add_executable(corgi-bench-torch ${CMAKE_SOURCE_DIR}/bench/torch.cpp)
    target_compile_features(corgi-bench-torch PRIVATE cxx_std_17)
    target_include_directories(corgi-bench-torch SYSTEM PRIVATE
        ${TORCH_INCLUDE} ${TORCH_INCLUDE}/torch/csrc/api/include)
    target_link_libraries(corgi-bench-torch PRIVATE
        ${TORCH_LIBRARY} ${TORCH_CPU_LIBRARY} ${C10_LIBRARY})
endif()
